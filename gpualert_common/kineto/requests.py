"""Requests for traces, and their results, as files of the record."""

from __future__ import annotations

from gpualert_common.quantities import Number, Seconds, Time
from gpualert_common.spec import ON_REQUEST
from gpualert_common.structs import Struct

LEAST_DURATION_S = 0.1
MOST_DURATION_S = 60.0
DEFAULT_DURATION_S = 2.0
WRITING_S = 600.0
"""A process that writes its trace for longer is given up."""


class TraceRequest(Struct, frozen=True, kw_only=True):
    """Request for a trace, with its reason for people; without ``ranks``, of all.

    ``with_stacks`` adds frames of Python.
    """

    schema: int = 1
    at: Time
    duration_s: Seconds = DEFAULT_DURATION_S
    ranks: tuple[Number, ...] = ()
    with_stacks: bool = False
    reason: str = ON_REQUEST

    def find_problem(self) -> str:
        """Return the reason not to take this trace; "" for none."""
        if not LEAST_DURATION_S <= self.duration_s <= MOST_DURATION_S:
            limits = f"from {LEAST_DURATION_S:g} s to {MOST_DURATION_S:g} s"
            return f"a trace takes {limits}, not {self.duration_s:g} s"
        if any(one < 0 for one in self.ranks):
            return f"rank {min(self.ranks)}: ranks are numbers from 0 on"
        return ""


class TracedProcess(Struct, frozen=True):
    """One process of a trace.

    ``rank`` is "rank:0", or "leader" in a run without ranks; ``pid`` is 0 for one that the run does
    not have.  ``file`` is the name of its trace in
    the folder; "" where there is none, and ``problem`` says why.  ``trace_bytes`` is the size of
    the trace before compression.
    """

    rank: str
    pid: Number
    file: str = ""
    trace_bytes: Number = 0
    problem: str = ""


class TraceResult(Struct, frozen=True, kw_only=True):
    """Result of a request.

    ``start_at`` is the common start of all processes, 0 where none was asked.  ``problem`` says why
    no process could be asked.
    """

    schema: int = 1
    start_at: Time = 0.0
    duration_s: Seconds = 0.0
    processes: tuple[TracedProcess, ...] = ()
    problem: str = ""
