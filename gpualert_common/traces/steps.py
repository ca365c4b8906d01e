"""Steps of a trace: by the annotations of PyTorch, else by work that comes back regularly."""

from __future__ import annotations

import itertools
from array import array
from collections import defaultdict
from typing import NamedTuple

from gpualert_common.median import median
from gpualert_common.traces.analysis import StepRule
from gpualert_common.traces.intervals import Interval
from gpualert_common.traces.rank_events import DeviceWork, RankEvents, StepMark
from gpualert_common.traces.slice_names import SliceSort
from gpualert_common.traces.thread_slices import ThreadSlices

_LEAST_MARKS = 4
_MOST_SPREAD = 2.0
"""Distances of a regular name lie between half and double of their median."""
_LEAST_COVERAGE = 0.6
"""Part of the trace in which a name must come back: a warm-up or an evaluation is no step."""
_LEAST_PERIOD_NS = 1_000_000
"""A name that comes back sooner is a part of a step: the fastest trainings make 1,000 a second."""


class Step(NamedTuple):
    """One step, in nanoseconds of the trace."""

    name: str
    start: int
    end: int


class Steps(NamedTuple):
    """The steps of a trace; empty where there is no sign of any."""

    rule: StepRule
    sign: str
    found: list[Step]


def find_steps(events: RankEvents) -> Steps:
    """Return the steps of a rank."""
    marks = sorted(events.steps, key=lambda one: one.start)
    profiled = [one for one in marks if one.name.startswith("ProfilerStep#")]
    if profiled:
        starts = [one.start for one in profiled]
        ends = [*starts[1:], profiled[-1].end]
        names = [one.name.partition("#")[2] for one in profiled]
        return Steps(StepRule.PROFILER, "ProfilerStep", _list_steps(names, starts, ends))
    return _find_optimizer_steps(marks) or _find_repetition(events)


def _find_optimizer_steps(marks: list[StepMark]) -> Steps | None:
    """Return the times between the ends of the steps of one optimizer."""
    ends: dict[str, list[int]] = defaultdict(list)
    for one in marks:
        ends[one.name].append(one.end)
    if not ends:
        return None
    sign = max(ends, key=lambda name: len(ends[name]))
    found = _number_steps(ends[sign])
    return Steps(StepRule.OPTIMIZER, sign, found) if found else None


def _find_repetition(events: RankEvents) -> Steps:
    """Return steps by the rarest name that comes back at equal distances."""
    window = find_window(events)
    places = _list_places(events)
    signs = [
        (len(starts), name)
        for name, starts in places.items()
        if len(starts) >= _LEAST_MARKS and _is_regular(sorted(starts), window)
    ]
    if not signs:
        return Steps(StepRule.NONE, "", [])
    name = min(signs)[1]
    return Steps(StepRule.REPETITION, events.names[name].label, _number_steps(sorted(places[name])))


def _list_places(events: RankEvents) -> dict[int, array[int]]:
    """Return the starts of each name: of kernels, or without them of operators."""
    places: dict[int, array[int]] = defaultdict(lambda: array("q"))
    columns = [events.device] if len(events.device) else events.threads.values()
    for one in columns:
        for name, start in zip(one.names, one.starts, strict=True):
            if events.names[name].sort in (SliceSort.DEVICE, SliceSort.OPERATOR):
                places[name].append(start)
    return places


def _is_regular(starts: list[int], window: Interval) -> bool:
    distances = [after - before for before, after in itertools.pairwise(starts)]
    usual = median(distances)
    return (
        usual >= _LEAST_PERIOD_NS
        and starts[-1] - starts[0] >= _LEAST_COVERAGE * (window[1] - window[0])
        and min(distances) * _MOST_SPREAD >= usual >= max(distances) / _MOST_SPREAD
    )


def find_window(events: RankEvents) -> Interval:
    """Return the time that a trace is about: in which PyTorch recorded, else that of its work."""
    starts, ends = [], []
    columns: list[DeviceWork | ThreadSlices] = [
        events.device,
        events.transfers,
        *events.threads.values(),
    ]
    for one in columns:
        if len(one):
            starts.append(min(one.starts))
            ends.append(max(one.ends))
    if events.span is not None and events.span[1] > events.span[0]:
        return events.span[0], max(events.span[1], max(events.device.ends, default=0))
    return min(starts, default=0), max(ends, default=0)


def _number_steps(marks: list[int]) -> list[Step]:
    names = [str(number) for number in range(len(marks) - 1)]
    return _list_steps(names, marks[:-1], marks[1:])


def _list_steps(names: list[str], starts: list[int], ends: list[int]) -> list[Step]:
    """Return the steps that take time."""
    steps = zip(names, starts, ends, strict=True)
    return [Step(name, start, end) for name, start, end in steps if end > start]
