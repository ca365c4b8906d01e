"""The result of a training: whether it ended well, and the error if it did not."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from prefect_gpualert import output
from prefect_gpualert.errors import TrainingFailed

if TYPE_CHECKING:
    from gpualert_common.api import RunResult


def is_success(result: RunResult) -> bool:
    """Return True for a training that exited with 0, and that nothing stopped."""
    ending = result.record.ending
    is_stopped = ending is None or ending.signal is not None or ending.limit is not None
    return result.exit_code == 0 and not is_stopped


def make_error(
    result: RunResult, status: str = "Command failed with exit code {code}"
) -> TrainingFailed:
    """Return the error of a training that did not end well.

    The first line of its message has the cause and ``status``, the words of upstream's error.
    """
    verdict, code = result.verdict, result.exit_code
    cause = "unknown" if verdict is None else verdict.cause
    headline = "no verdict could be made" if verdict is None else " ".join(verdict.headline.split())
    status = status.format(code="unknown" if code is None else code)
    lines = [f"{cause}: {headline} ({status})"]
    with contextlib.suppress(OSError):
        logs = [result.record.log_path(name) for name in reversed(result.record.logs)]
        lines += next(filter(None, map(output.tail, logs)), [])
    lines.append(f"log: {result.log_path}")
    return TrainingFailed(
        "\n".join(lines),
        cause=cause,
        exit_code=code,
        log_path=result.log_path,
        run_id=result.record.run_id,
        verdict=verdict,
    )
