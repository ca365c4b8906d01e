"""Ranks that wait for others in a collective: which ranks the others wait for, and why.

The calls of all ranks show it: dumps of PyTorch's flight recorder, else the numbers that watchdogs
printed into the log, else two readings of NCCL's RAS.  A rank that is behind is named if it waits
in no other collective.  If ranks called different collectives, or in another order, it is an error
of the program; the odd rank is named by a majority, or because it left the order of its own earlier
steps, and else all ranks that disagree.  If a rank never entered the collective, its own stack
decides why, and this family does not attribute it.  Only a stall that lasted to the end of the run
counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.classify.details import Scalar
from gpualert_common.collectives.stall import Stall, StallKind
from gpualert_common.collectives.stall_text import describe_stall, name_place
from gpualert_common.collectives.watchdogs import find_reported_stall
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.model import Claim
from gpualert_common.processes.rank_names import name_ranks
from gpualert_common.structs import ValidationError, convert
from gpualert_common.telemetry.series import TelemetryEvent

FAMILY = "C2"
_CAUSE = "collective"
_EVENT, _END_EVENT = "collective_stall", "collective_stall_over"
_SOURCES = ("flight_recorder", "log", "nccl_ras")
"""Sources of a stall, the most exact first."""
_CERTAIN = frozenset((StallKind.MISMATCH, StallKind.ORDER))
"""Kinds that explain the stall.  For the others, the stack of a rank may name the reason."""
_MOST_LOCAL_RANKS = 256
_LIMITS = frozenset(("time_limit", "idle_hang"))
"""Causes of a run that a limit ended: of its time, or of the time without progress."""
_STOPPED = _LIMITS | {"cancelled", "preempted", "killed_unknown"}
"""Causes of a run that a person or a limit stopped because it no longer made progress."""


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the stall that the calls of the ranks show, if it lasted to the end."""
    cause = evidence.resolution.cause
    if cause != _CAUSE and not (evidence.is_running or cause in _STOPPED):
        return
    stalls = {source: (stall, text) for source, stall, text in _list_stalls(evidence)}
    source = next((name for name in _SOURCES if name in stalls), None)
    if source is None:
        return
    stall, text = stalls[source]
    claim = Claim(text, source, rank=stall.culprits[0] if len(stall.culprits) == 1 else None)
    is_limit, is_certain = cause in _LIMITS, stall.kind in _CERTAIN and source != "log"
    is_named = is_limit or cause == _CAUSE
    decides = is_limit or (is_named and is_certain)
    yield Finding(
        FAMILY,
        Weight.DECIDES if decides else Weight.SUPPORTS if is_named else Weight.WARNS,
        text,
        cause=_CAUSE if is_named else "",
        confidence=0.9 if not is_certain else 0.95 if stall.has_departed else 0.97,
        over=_LIMITS,
        kind="" if is_named else "collective_stalled",
        claims=(claim,),
        corrections=_make_details(stall),
    )


def _list_stalls(evidence: Evidence) -> Iterator[tuple[str, Stall, str]]:
    """Yield the newest stall of each source that lasted to the end, and its text."""
    newest = {event.source: event for event in evidence.events(_EVENT, _END_EVENT)}
    for event in newest.values():
        stall = _read_stall(event) if event.what == _EVENT else None
        if stall is not None and _is_lasting(event, evidence):
            yield event.source, stall, event.text
    reports = [one for reading in evidence.readings for one in reading.watchdog_reports]
    is_sampled = any(reading.is_sampled for reading in evidence.readings)
    world_size = None if is_sampled else _find_world_size(evidence)
    found = find_reported_stall(reports, world_size, _find_local_ranks(evidence) or None)
    if found is not None:
        yield "log", found, describe_stall(found)


def _read_stall(event: TelemetryEvent) -> Stall | None:
    try:
        return convert(dict(event.fields), Stall)
    except ValidationError:  # of a later release
        return None


def _is_lasting(event: TelemetryEvent, evidence: Evidence) -> bool:
    """Return whether the run came no further after the stall was seen."""
    if evidence.resolution.cause == _CAUSE:
        return evidence.count_steps_since(event.at) == 0
    is_silent = evidence.silence_s >= thresholds.SILENCE_S or event.source == "flight_recorder"
    return is_silent and evidence.count_steps_since(event.at) == 0


def _find_world_size(evidence: Evidence) -> int | None:
    """Return the number of ranks of the job; None where no process announced it."""
    found = [event.fields.get("world_size") for event in evidence.events("rank_process")]
    sizes = [size for size in found if isinstance(size, int)]
    given = str(evidence.environment.get("WORLD_SIZE", ""))
    return max(sizes, default=int(given) if given.isdecimal() else None)


def _find_local_ranks(evidence: Evidence) -> frozenset[int]:
    """Return the ranks of this machine, whose reports are in the logs."""
    found: set[int] = set()
    for event in evidence.events("rank_process"):
        values = [event.fields.get(name) for name in ("rank", "local_rank", "local_world_size")]
        rank, local, size = (value if isinstance(value, int) else None for value in values)
        if rank is not None and local is not None and size is not None:
            found |= set(range(rank - local, rank - local + min(size, _MOST_LOCAL_RANKS)))
    return frozenset(found)


def _make_details(stall: Stall) -> dict[str, Scalar]:
    """Return the details by which the rule chooses its texts."""
    details: dict[str, Scalar] = {"stall": stall.kind.value, "call": name_place(stall)}
    if stall.kind is StallKind.MISMATCH:
        details["call"] = stall.call
    if stall.is_tied and stall.culprits:
        details["stall"] = f"{stall.kind.value}_tied"
    elif stall.has_departed:
        details["stall"] = f"{stall.kind.value}_departed"
    if stall.culprits:
        details["culprits"] = name_ranks(stall.culprits)
        details["culprits_first"] = name_ranks(stall.culprits).capitalize()
    details["waiting"] = name_ranks(stall.waiting) if stall.waiting else "the others"
    details |= {"other_call": stall.other_call, "group": stall.group}
    return {name: value for name, value in details.items() if value != ""}
