"""One attempt of an engine at a task, and what it does about the attempt before it."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from gpualert_common.errors import UsageError
from gpualert_common.spec import is_number, is_seconds

if TYPE_CHECKING:
    from gpualert_common.guardian.run_location import RunLocation

MOST_OWNER_CHARACTERS = 64
"""It becomes part of a file name."""
LEAST_LEASE_S = 1.0
"""The guardian looks four times a second, and a lease is renewed six times in its length."""
DEFAULT_LEASE_S = 30.0
"""Several renewals fit into it, and a follower that swaps or waits for a disk keeps it."""

_PASSING = ("GPUALERT_", "_")
_PASSING_NAMES = frozenset(("OLDPWD", "PWD", "SHLVL"))
"""Variables that shells and we set, and that make no other run of the same command."""


@dataclass(frozen=True)
class Attempt:
    """Who wants a run: the task across its attempts, which attempt, and what comes after it.

    ``key`` names the task; of two attempts the one with the higher ``number`` is the later;
    ``told_as`` is the number that people know it by, where that is another one.  The
    training may go on without a follower for ``adopt_within_s`` seconds; 0 says that no attempt
    will come, so that it is ended gracefully at once.  ``lease_s`` is how long a follower may be
    silent.  ``across_hosts`` says that the next attempt may run on another host that shares the
    state directory: the guardian then ends a run whose record it cannot read for that long.
    ``is_last`` says that no other attempt follows this one, whatever becomes of it.
    ``fingerprint`` tells runs of one task apart that must not adopt each other; None derives it
    from command, working directory, and the names of the variables in the spec's ``env``.
    ``training`` names what is trained, the same in every run of the engine, where names of its runs
    are made at random: by it the history finds the runs before.
    ``before`` is the run before it as the engine knows it, where that one may be on a host that
    shares no state directory with this one.
    """

    key: tuple[str, ...]
    number: int = 1
    adopt_within_s: float = 0.0
    lease_s: float = DEFAULT_LEASE_S
    across_hosts: bool = False
    is_last: bool = False
    told_as: int | None = None
    fingerprint: str | None = None
    training: str | None = None
    before: RunLocation | None = None
    owner: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Names this attempt at this moment and no other one ever."""

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
    """What must agree before an attempt adopts a run that it did not launch.

    ``env`` is what the task's author gave; what a worker happens to have in its own environment
    makes no other run of the same command.
    """
    own = sorted(
        name for name in env or () if not name.startswith(_PASSING) and name not in _PASSING_NAMES
    )
    text = json.dumps([list(command), own, cwd])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class TakeoverAction(StrEnum):
    """What an attempt does next about the run before it."""

    LAUNCH = "launch"
    ADOPT = "adopt"
    CLAIM = "claim"
    WAIT = "wait"
    STOP = "stop"
    END_REMAINS = "end remains"
    FENCE = "fence"


@dataclass(frozen=True)
class Predecessor:
    """The last run of the same key, as its record tells.

    ``state`` is that of the record.  ``known`` says that its status is known, ``stopped`` that
    somebody stopped it, ``same`` that its fingerprint is ours, ``remains`` that processes of it
    live, ``far`` that it runs where we can see neither lock nor processes, ``silent`` that its
    guardian there has not been heard of for as long as its fence.
    """

    state: str
    number: int = 0
    same: bool = True
    known: bool = True
    claimed: bool = False
    stopped: bool = False
    remains: bool = False
    far: bool = False
    silent: bool = False


def decide(before: Predecessor, number: int) -> TakeoverAction:
    """The next step of attempt ``number``; it holds the key while it takes it."""
    match before.state:
        case "ended" if before.remains:
            return TakeoverAction.END_REMAINS
        case "ended":
            fresh = before.claimed or before.stopped or not before.known or not before.same
            return TakeoverAction.LAUNCH if fresh else TakeoverAction.CLAIM
        case _ if before.far and before.silent:
            return TakeoverAction.FENCE
        case "lost" if not before.far:
            return TakeoverAction.END_REMAINS if before.remains else TakeoverAction.LAUNCH
        case "orphaned":
            return TakeoverAction.ADOPT if before.same else TakeoverAction.STOP
        case "running" if number > before.number:
            return TakeoverAction.ADOPT if before.same else TakeoverAction.STOP
        case _:
            return TakeoverAction.WAIT
