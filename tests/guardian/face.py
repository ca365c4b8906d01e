"""One attempt at a task, in a process of its own, as an engine would make it: ``face.py '{...}'``.

What it comes by, is told and sees, it says as one JSON object a line.  TERM has it stop its run;
``interrupt_after_s`` throws the exception ``interrupt`` into whatever it is doing then.
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
    """What an engine throws at a task that it wants ended."""


class TimedOutError(TimeoutError):
    """What another engine throws: for Python that is an error of the operating system."""


KINDS = {kind.__name__: kind for kind in (Interrupted, TimedOutError, KeyboardInterrupt)}


def say(**what: Any) -> None:
    """One line."""
    print(json.dumps(what), flush=True)


def main(asked: dict[str, Any]) -> None:
    """Make the attempt."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KINDS[asked["interrupt"]]("the engine's time limit")

    def stop(_number: int, _frame: FrameType | None) -> None:
        for handle in handles:
            handle.stop("its engine said so")

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
    say(ready=True)
    signal.setitimer(signal.ITIMER_REAL, asked["interrupt_after_s"])
    try:
        handles.append(RunHandle.launch(spec, attempt, log=lambda text: say(told=text)))
        (handle,) = handles
        say(origin=handle.origin, run=handle.record.path)
        for lines in handle.follow():
            if lines:
                say(lines=lines)
        result = handle.wait()
        verdict = result.verdict
        say(exit_code=result.exit_code, disposition=verdict and verdict.disposition.value)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is what we are here to say
        say(error=type(error).__name__, text=str(error))
        for handle in handles:
            handle.stop("its task was interrupted")


main(json.loads(sys.argv[1]))
