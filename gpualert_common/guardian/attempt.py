"""One attempt of an engine at a task, and its decision about the run before it."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from gpualert_common.errors import UsageError
from gpualert_common.launch_record import EngineTask
from gpualert_common.quantities import is_number, is_seconds
from gpualert_common.record import RunState
from gpualert_common.structs import Struct, field

if TYPE_CHECKING:
    from gpualert_common.guardian.run_location import RunLocation

MOST_OWNER_CHARACTERS = 64
"""It becomes part of a file name."""
LEAST_LEASE_S = 1.0
"""The guardian looks four times a second, and a lease is renewed six times in its length."""
DEFAULT_LEASE_S = 30.0
"""Long enough for a follower that swaps, or waits for a disk, to keep it."""

_PASSING = ("GPUALERT_", "_")
_PASSING_NAMES = frozenset(("OLDPWD", "PWD", "SHLVL"))
"""Variables of shells and of ours, which do not make two runs of a command different."""


class Attempt(Struct, frozen=True):
    """One attempt at a task, with its terms for the run.

    ``key`` names the task; of two attempts the one with the higher ``number`` is the later;
    ``shown_number`` is the number that the engine shows, if it is another one.  The training may
    go on without a follower for ``adopt_within_s`` seconds; 0 says that no attempt will come, so
    that it is ended gracefully at once.  ``lease_s`` is how long a follower may be silent.
    ``across_hosts`` says that the next attempt may run on another host that shares the state
    directory: the guardian then ends a run whose record it cannot read for that long.  ``is_last``
    says that no other attempt follows this one in any case.  ``fingerprint`` distinguishes runs of
    one task that must not adopt each other; None derives it from command, working directory, and
    the names of the variables in the spec's ``env``.  ``training`` is a name that is the same in
    every run of the engine, where the engine names its runs at random: by it the history finds
    earlier runs.  ``task`` names the task for people.  ``before`` is the location of the earlier
    run as the engine stored it, where that one may be on a host that shares no state directory with
    this one.
    """

    key: tuple[str, ...]
    number: int = 1
    adopt_within_s: float = 0.0
    lease_s: float = DEFAULT_LEASE_S
    across_hosts: bool = False
    is_last: bool = False
    shown_number: int | None = None
    fingerprint: str | None = None
    training: str | None = None
    task: EngineTask = field(default_factory=EngineTask)
    before: RunLocation | None = None
    owner: str = field(default_factory=lambda: uuid.uuid4().hex)
    """A name that no other attempt ever has."""

    def __post_init__(self) -> None:
        key: object = self.key
        texts = isinstance(key, tuple) and all(isinstance(part, str) for part in key)
        if not texts or not key:
            raise UsageError(f"key {self.key!r} is not a tuple of texts")
        if not self.owner.isalnum() or len(self.owner) > MOST_OWNER_CHARACTERS:
            raise UsageError(f"owner {self.owner!r} is not a short name of letters and digits")
        if not is_number(self.number):
            raise UsageError(f"number {self.number!r} is not a whole number")
        for name in ("adopt_within_s", "lease_s"):
            if not is_seconds(getattr(self, name)):
                raise UsageError(f"{name} {getattr(self, name)!r} is not a number of seconds")
        if self.lease_s < LEAST_LEASE_S:
            raise UsageError(f"lease_s {self.lease_s:g} is under {LEAST_LEASE_S:g} seconds")


def fingerprint(command: Sequence[str], env: Mapping[str, str] | None, cwd: str | None) -> str:
    """Return what must agree before an attempt adopts a run that it did not launch.

    ``env`` holds the variables of the task's author; those of a worker's own environment do not
    count.
    """
    own = sorted(
        name for name in env or () if not name.startswith(_PASSING) and name not in _PASSING_NAMES
    )
    text = json.dumps([list(command), own, cwd])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class TakeoverAction(StrEnum):
    """The next step of an attempt about the run before it."""

    LAUNCH = "launch"
    ADOPT = "adopt"
    CLAIM = "claim"
    WAIT = "wait"
    STOP = "stop"
    END_PROCESSES = "end processes"
    FENCE = "fence"


class Predecessor(Struct, frozen=True):
    """The last run of the same key, by its record.

    ``has_same_fingerprint`` compares it with the attempt; ``has_status``: its exit status is known;
    ``is_stopped``: it was stopped; ``has_unsupervised_processes``: processes of it live, and no
    guardian; ``is_remote``: neither its lock nor its processes are visible from here;
    ``is_silent``: its guardian there has not renewed the beat for as long as its fence.
    """

    state: RunState
    number: int = 0
    has_same_fingerprint: bool = True
    has_status: bool = True
    is_claimed: bool = False
    is_stopped: bool = False
    has_unsupervised_processes: bool = False
    is_remote: bool = False
    is_silent: bool = False


def choose_action(before: Predecessor, number: int) -> TakeoverAction:
    """Return the next step of attempt ``number``, which holds the key until it is done."""
    match before.state:
        case RunState.ENDED if before.has_unsupervised_processes:
            return TakeoverAction.END_PROCESSES
        case RunState.ENDED:
            is_usable = before.has_same_fingerprint and before.has_status and not before.is_stopped
            is_free = is_usable and not before.is_claimed
            return TakeoverAction.CLAIM if is_free else TakeoverAction.LAUNCH
        case _ if before.is_remote and before.is_silent:
            return TakeoverAction.FENCE
        case RunState.LOST if not before.is_remote:
            return (
                TakeoverAction.END_PROCESSES
                if before.has_unsupervised_processes
                else TakeoverAction.LAUNCH
            )
        case RunState.ORPHANED:
            return TakeoverAction.ADOPT if before.has_same_fingerprint else TakeoverAction.STOP
        case RunState.RUNNING if number > before.number:
            return TakeoverAction.ADOPT if before.has_same_fingerprint else TakeoverAction.STOP
        case _:
            return TakeoverAction.WAIT
