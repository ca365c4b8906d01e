"""Stop of a run on request of a person: by its supervisor, or without one."""

from __future__ import annotations

import getpass
import os
import time
from enum import StrEnum

from gpualert_common import recover as recovery
from gpualert_common.end_record import Sender
from gpualert_common.errors import UsageError
from gpualert_common.processes.host import host_name
from gpualert_common.record import Record, RunState
from gpualert_common.report.wording import describe_place
from gpualert_common.structs import Struct
from gpualert_common.supervise.stop import KILLING_S, TERMINATE_S

_POLL_S = 0.1
_STOP_MARGIN_S = 5.0


class StopResult(StrEnum):
    """Result of a request to stop a run."""

    ENDED = "ended"
    ENDED_BY_ITSELF = "ended by itself"
    """It ended before the request reached it."""
    ALREADY_ENDED = "already ended"
    NOT_RUNNING = "not running; its supervisor died"
    STILL_RUNNING = "stop requested, but still running"
    PROCESSES_LEFT = "processes left"


class StopOutcome(Struct, frozen=True):
    """Outcome of a request to stop a run; ``processes_left`` is the number that nothing ended."""

    result: StopResult
    processes_left: int = 0

    @property
    def is_stopped(self) -> bool:
        """True if the run has ended since the request."""
        return self.result in (StopResult.ENDED, StopResult.ENDED_BY_ITSELF)

    def __str__(self) -> str:
        return f"{self.processes_left} {self.result}" if self.processes_left else self.result


def stop_run(record: Record, sender: Sender, grace_s: float | None = None) -> StopOutcome:
    """Stop a run gracefully and wait for its end, but no longer than the stop may take.

    Without a grace it has that of the run.  Raises UsageError for a run that is not visible from
    here, OSError if the request cannot be written.
    """
    if record.state is RunState.ENDED:
        return StopOutcome(StopResult.ALREADY_ENDED)
    if recovery.is_remote(record):
        spec = record.spec
        place = describe_place(recovery.locate(spec), spec.host)
        raise UsageError(f"{record.run_id} runs on {place}; stop it there")
    own_s = record.spec.grace_s if grace_s is None else grace_s
    if record.state is not RunState.LOST:
        record.request("stop", grace_s=grace_s, sender=sender)
        _await_end(record, own_s)
    if record.state is RunState.LOST:
        return _stop_unsupervised(record, sender, own_s)
    ending = record.ending
    if ending is None:
        return StopOutcome(StopResult.STILL_RUNNING)
    by_itself = ending.signal is None and ending.limit is None
    return StopOutcome(StopResult.ENDED_BY_ITSELF if by_itself else StopResult.ENDED)


def make_sender(command: str, terminal: str | None = None) -> Sender:
    """Return this process as the sender of a stop, with its user and host."""
    sender: Sender = {
        "pid": os.getpid(),
        "uid": os.getuid(),
        "command": command,
        "user": _user(),
        "host": host_name(),
    }
    return sender if terminal is None else {**sender, "terminal": terminal}


def _await_end(record: Record, grace_s: float) -> None:
    """Wait until the supervisor has stopped the run or died."""
    deadline = time.monotonic() + grace_s + TERMINATE_S + KILLING_S + _STOP_MARGIN_S
    while record.state not in (RunState.ENDED, RunState.LOST) and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def _stop_unsupervised(record: Record, sender: Sender, grace_s: float) -> StopOutcome:
    if not recovery.has_processes(record):
        return StopOutcome(StopResult.NOT_RUNNING)
    left = recovery.stop_unsupervised(record, grace_s, sender)
    if left:
        return StopOutcome(StopResult.PROCESSES_LEFT, len(left))
    recovery.recover(record)
    return StopOutcome(StopResult.ENDED)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
