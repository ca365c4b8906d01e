"""The end record: how a run ended, as ``exit.json`` has it.

Written by :meth:`gpualert_common.spec.Ending.to_json`, which imports none of this.
"""

from __future__ import annotations

from typing import TypedDict

from gpualert_common.quantities import Number, Time
from gpualert_common.structs import Struct


class Sender(TypedDict, total=False):
    """Sender of a signal or of a request to stop; empty if it is unknown.

    A person's request has ``user``, ``host`` and, unless a script made it, ``terminal``.  An engine
    gives the reason of a stop: ``meant_as`` in a word, ``because`` for people.
    """

    pid: Number
    uid: Number
    command: str
    user: str
    host: str
    terminal: str
    meant_as: str
    because: str


class SchedulerStop(TypedDict):
    """A stop by a scheduler, according to its records: its cause, and a claim of the verdict."""

    cause: str
    claim: str


class Survivor(TypedDict):
    """A process that outlived its run."""

    pid: Number
    command: str


class EndRecord(Struct, frozen=True, kw_only=True):
    """The end of one run; :class:`gpualert_common.spec.Ending` explains the keys."""

    started_at: Time | None = None
    ended_at: Time | None = None
    code: Number | None = None
    core_dumped: bool = False
    started: bool = True
    pid: Number | None = None
    start_error: tuple[Number, str] | None = None
    limit: str | None = None
    signal: Number | None = None
    sender: Sender | None = None
    rusage: dict[str, float] | None = None
    survivors: tuple[Survivor, ...] = ()
