"""The result of a training: whether it ended well, and the error if it did not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpualert_common.guardian.failure_text import describe_failure
from gpualert_common.suspicion import OnSuspect, choose_reaction
from prefect_gpualert.errors import TrainingFailed

if TYPE_CHECKING:
    from gpualert_common.api import RunResult
    from gpualert_common.redact import Redactor


def is_success(result: RunResult, on_suspect: OnSuspect = OnSuspect.WARN) -> bool:
    """Return True for a training that exited with 0, and that nothing stopped.

    A suspect training is none if ``on_suspect`` is FAIL.
    """
    ending = result.record.ending
    is_stopped = ending is None or ending.signal is not None or ending.limit is not None
    if result.exit_code != 0 or is_stopped:
        return False
    return choose_reaction(result.verdict, on_suspect) is not OnSuspect.FAIL


def make_error(
    result: RunResult, redactor: Redactor, status: str = "Command failed with exit code {code}"
) -> TrainingFailed:
    """Return the error of a training that did not end well.

    ``status`` are the words of upstream's error.
    """
    verdict, code = result.verdict, result.exit_code
    status = status.format(code="unknown" if code is None else code)
    return TrainingFailed(
        describe_failure(result, redactor, status),
        cause="unknown" if verdict is None else verdict.cause,
        exit_code=code,
        log_path=result.log_path,
        run_id=result.record.run_id,
        verdict=verdict,
    )
