"""The result of a training: whether it ended well, and the error if it did not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpualert_common.report.wording import describe_missing_verdict
from prefect_gpualert.errors import TrainingFailed

if TYPE_CHECKING:
    from gpualert_common.api import RunResult
    from gpualert_common.redact import Redactor

_TAIL_LINES = 20


def is_success(result: RunResult) -> bool:
    """Return True for a training that exited with 0, and that nothing stopped."""
    ending = result.record.ending
    is_stopped = ending is None or ending.signal is not None or ending.limit is not None
    return result.exit_code == 0 and not is_stopped


def make_error(
    result: RunResult, redactor: Redactor, status: str = "Command failed with exit code {code}"
) -> TrainingFailed:
    """Return the error of a training that did not end well.

    The first line of its message has the cause and ``status``, the words of upstream's error.  The
    last lines of the log follow, masked, since Prefect sends the message to its API.
    """
    from gpualert_common.artifacts import read_last_lines  # not needed by a training that succeeds

    verdict, code = result.verdict, result.exit_code
    cause = "unknown" if verdict is None else verdict.cause
    if verdict is None:
        headline = describe_missing_verdict(is_pending=result.record.is_verdict_pending)
    else:
        headline = " ".join(redactor.mask_text(verdict.headline).split())
    status = status.format(code="unknown" if code is None else code)
    lines = read_last_lines(result.record, redactor, _TAIL_LINES)
    return TrainingFailed(
        "\n".join((f"{cause}: {headline} ({status})", *lines, f"log: {result.log_path}")),
        cause=cause,
        exit_code=code,
        log_path=result.log_path,
        run_id=result.record.run_id,
        verdict=verdict,
    )
