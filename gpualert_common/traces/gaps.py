"""Gaps: times in which the device has nothing to do, and the activity of the CPU in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from gpualert_common.traces.analysis import MOST_NAMES, UNRECORDED, GapCause, GapKind
from gpualert_common.traces.intervals import Interval, measure_within, subtract
from gpualert_common.traces.rank_events import RankEvents
from gpualert_common.traces.slice_names import SliceName, SliceNames, SliceSort
from gpualert_common.traces.thread_slices import SliceSegment, ThreadSlices
from gpualert_common.traces.work_kinds import WorkKind

_SYNCHRONIZING = ("Synchronize", "_local_scalar_dense", "aten::item", "aten::nonzero")
_LOADER = "DataLoader"
_STEP_MARK = "ProfilerStep#"
"""Prefix of the annotation around a whole step, which says nothing about a time within it."""


class GapCauses:
    """Times of the activities in the gaps of one rank.

    ``input_times`` are the times in the gaps in which the training waited for data.
    """

    def __init__(self, names: SliceNames) -> None:
        self.input_times: list[Interval] = []
        self._names = names
        self._times: dict[tuple[str, GapKind], list[int]] = defaultdict(lambda: [0, 0])
        """By label and kind: nanoseconds, and number of gaps."""

    def add(
        self,
        gaps: Sequence[Interval],
        segments: Iterable[SliceSegment],
        transfers: Iterable[SliceSegment],
    ) -> None:
        """Add the activities of one thread in these gaps, and collectives in the rest of them."""
        rest = self._add_segments(self._add_segments(gaps, segments), transfers)
        for time in measure_within(rest, gaps):
            if time > 0:
                self._add_time((UNRECORDED, GapKind.UNRECORDED), time, is_new_gap=True)

    def _add_segments(
        self, gaps: Sequence[Interval], segments: Iterable[SliceSegment]
    ) -> list[Interval]:
        """Return the times in the gaps that are in no segment."""
        last_gap: dict[tuple[str, GapKind], int] = {}
        recorded: list[Interval] = []
        for index, segment, time in _overlap(gaps, segments):
            if self._names[segment.name].label.startswith(_STEP_MARK):
                continue
            key = _describe_segment(segment, self._names)
            self._add_time(key, time[1] - time[0], is_new_gap=last_gap.get(key) != index)
            last_gap[key] = index
            if key[1] is GapKind.INPUT:
                self.input_times.append(time)
            first = recorded.pop()[0] if recorded and recorded[-1][1] == time[0] else time[0]
            recorded.append((first, time[1]))
        return subtract(gaps, recorded)

    def _add_time(self, key: tuple[str, GapKind], time: int, *, is_new_gap: bool) -> None:
        times = self._times[key]
        times[0] += time
        times[1] += is_new_gap

    def summarize(self) -> tuple[GapCause, ...]:
        """Return the causes, those with most time first."""
        causes = (
            GapCause(label, kind, time / 1e9, gaps)
            for (label, kind), (time, gaps) in self._times.items()
        )
        return tuple(sorted(causes, key=lambda one: -one.total_s)[:MOST_NAMES])


def assign_gaps(events: RankEvents, gaps: Sequence[Interval]) -> dict[int | str, list[Interval]]:
    """Return the gaps by the thread that ends them: the one that launches the next kernel."""
    main = find_main_thread(events)
    assigned: dict[int | str, list[Interval]] = defaultdict(list)
    device = events.device
    rows = sorted(range(len(device)), key=device.starts.__getitem__)
    at = 0
    for gap in gaps:
        while at < len(rows) and device.starts[rows[at]] < gap[1]:
            at += 1
        correlation = device.correlations[rows[at]] if at < len(rows) else 0
        _, thread = events.launches.get(correlation, (0, main))
        assigned[thread].append(gap)
    return assigned


def find_main_thread(events: RankEvents) -> int | str:
    """Return the thread whose slices take the longest time from the first to the last."""

    def find_extent(thread: int | str) -> int:
        slices = events.threads[thread]
        return max(slices.ends) - min(slices.starts)

    return max(events.threads, key=find_extent, default=0)


def attribute_gaps(events: RankEvents, gaps: Sequence[Interval]) -> GapCauses:
    """Return the activities of the CPU in these gaps."""
    causes = GapCauses(events.names)
    for thread, own in assign_gaps(events, gaps).items():
        slices = events.threads.get(thread, ThreadSlices())
        causes.add(own, slices.walk(events.names), events.transfers.walk(events.names))
    return causes


def _overlap(
    gaps: Sequence[Interval], segments: Iterable[SliceSegment]
) -> Iterator[tuple[int, SliceSegment, Interval]]:
    """Yield the index of a gap, a segment, and the time that they share."""
    first = 0
    for segment in segments:
        while first < len(gaps) and gaps[first][1] <= segment.start:
            first += 1
        index = first
        while index < len(gaps) and gaps[index][0] < segment.end:
            start, end = max(gaps[index][0], segment.start), min(gaps[index][1], segment.end)
            if end > start:
                yield index, segment, (start, end)
            index += 1


def _describe_segment(segment: SliceSegment, names: SliceNames) -> tuple[str, GapKind]:
    """Return the label and the kind of the activity of a segment."""
    name = names[segment.name]
    if segment.kind is WorkKind.INPUT:
        return _LOADER, GapKind.INPUT
    if segment.kind is WorkKind.COMMUNICATION:
        return name.label, GapKind.COMMUNICATION
    return name.label, _find_kind(name)


def _find_kind(name: SliceName) -> GapKind:
    if any(one in name.label for one in _SYNCHRONIZING):
        return GapKind.SYNCHRONIZATION
    if name.sort in (SliceSort.OPERATOR, SliceSort.RUNTIME):
        return GapKind.ISSUE
    return GapKind.PYTHON
