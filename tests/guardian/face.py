"""One attempt at a task in a separate process, as an engine makes it: ``face.py '{...}'``.

It prints its run, the messages to it and the lines of the log, as one JSON object a line.  TERM
stops its run.  ALRM raises the exception ``interrupt``, also after ``interrupt_after_s`` if that is
not 0.
"""

from __future__ import annotations

import json
import signal
import sys
from types import FrameType
from typing import Any

from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.guardian.run_location import RunLocation
from gpualert_common.spec import RunSpec


class Interrupted(BaseException):
    """Exception that an engine raises in a task to end it."""


class TimedOutError(TimeoutError):
    """Exception of another engine: for Python an error of the operating system."""


KINDS = {kind.__name__: kind for kind in (Interrupted, TimedOutError, KeyboardInterrupt)}


def report(**values: Any) -> None:
    """Print one line."""
    print(json.dumps(values), flush=True)


def main(asked: dict[str, Any]) -> None:
    """Make the attempt."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KINDS[asked["interrupt"]]("the engine's time limit")

    def stop(_number: int, _frame: FrameType | None) -> None:
        for handle in handles:
            handle.stop("its engine ended the task")

    handles: list[RunHandle] = []
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGALRM, interrupt)
    spec = RunSpec(**asked["spec"])
    attempt = Attempt(
        (asked["key"],),
        number=asked["number"],
        adopt_within_s=asked["adopt_within_s"],
        lease_s=asked["lease_s"],
        before=RunLocation.from_json(asked["remembered"]),
    )
    report(ready=True)
    signal.setitimer(signal.ITIMER_REAL, asked["interrupt_after_s"])
    try:
        handles.append(RunHandle.launch(spec, attempt, log=lambda text: report(message=text)))
        (handle,) = handles
        report(origin=handle.origin, run=handle.record.path)
        for lines in handle.follow():
            if lines:
                report(lines=lines)
        result = handle.wait()
        verdict = result.verdict
        report(exit_code=result.exit_code, disposition=verdict and verdict.disposition.value)
    except BaseException as error:  # noqa: BLE001 - any exception is the result of the attempt
        report(error=type(error).__name__, text=str(error))
        for handle in handles:
            handle.stop("its task was interrupted")


main(json.loads(sys.argv[1]))
