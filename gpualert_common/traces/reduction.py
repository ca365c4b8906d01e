"""Reduction of the events of one rank to its analysis."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from gpualert_common.traces.analysis import (
    MOST_NAMES,
    IssueLatency,
    NamedTime,
    RankAnalysis,
    StepTimes,
    TracedDevice,
    WorkTimes,
)
from gpualert_common.traces.collective_rates import rate_collectives
from gpualert_common.traces.gaps import attribute_gaps
from gpualert_common.traces.intervals import (
    Interval,
    intersect,
    measure_within,
    subtract,
    unite,
)
from gpualert_common.traces.rank_events import RankEvents
from gpualert_common.traces.slice_names import SliceNames
from gpualert_common.traces.steps import Step, Steps, find_steps, find_window
from gpualert_common.traces.trace_source import TraceSource
from gpualert_common.traces.work_kinds import COMPUTE, WorkKind

MOST_STEPS = 200
"""Steps of a rank that the analysis lists; the totals have all."""
_HIGH_SHARE = 0.95

Work = Mapping[WorkKind, Sequence[Interval]]


def reduce_rank(source: TraceSource, events: RankEvents) -> RankAnalysis:
    """Return the analysis of a rank."""
    steps = find_steps(events)
    window = find_window(events)
    if steps.found:
        window = (steps.found[0].start, steps.found[-1].end)
    is_gpu = len(events.device) > 0
    cpu_work, operators = _sum_operators(events, window)
    work = _collect_device_work(events, window) if is_gpu else cpu_work
    busy = unite(one for kind in work.values() for one in kind)
    gaps = subtract([window], busy)
    causes = attribute_gaps(events, gaps)
    if is_gpu:
        work = {**work, WorkKind.INPUT: unite(causes.input_times)}
    total, *listed = _measure_steps(steps, window, work, busy)
    return RankAnalysis(
        rank=source.rank,
        pid=source.pid,
        path=source.path,
        device=TracedDevice.GPU if is_gpu else TracedDevice.CPU,
        step_rule=steps.rule,
        step_sign=steps.sign,
        total=total,
        step_count=len(steps.found),
        steps=tuple(listed[:MOST_STEPS]),
        gaps=causes.summarize(),
        operators=operators,
        kernels=_sum_kernels(events, window),
        latency=_measure_latency(events, window),
        collectives=rate_collectives(
            call for call in events.calls if window[0] <= call.start_ns < window[1]
        ),
        operations=_sum_operations(events, window),
        has_stacks=events.frames > 0,
        events=events.count,
        skipped=events.skipped,
        unreadable=events.unreadable,
    )


def _collect_device_work(events: RankEvents, window: Interval) -> dict[WorkKind, list[Interval]]:
    """Return the times in which the GPUs of the rank did work of each kind."""
    work: dict[WorkKind, list[Interval]] = defaultdict(list)
    device = events.device
    for start, end, name in zip(device.starts, device.ends, device.names, strict=True):
        work[_kind_of(events.names, name)].append((start, end))
    return {kind: intersect(unite(times), [window]) for kind, times in work.items()}


def _kind_of(names: SliceNames, name: int) -> WorkKind:
    return names[name].kind or WorkKind.OTHER


def _sum_operators(
    events: RankEvents, window: Interval
) -> tuple[dict[WorkKind, list[Interval]], tuple[NamedTime, ...]]:
    """Return the times of each kind of work on the CPU, and the slowest operators."""
    work: dict[WorkKind, list[Interval]] = defaultdict(list)
    times: Counter[int] = Counter()
    calls: Counter[int] = Counter()
    for slices in events.threads.values():
        calls.update(slices.count_names(window))
        for segment in slices.walk(events.names):
            start, end = max(segment.start, window[0]), min(segment.end, window[1])
            if end <= start:
                continue
            if segment.operator >= 0:
                times[segment.operator] += end - start
            if segment.kind is not None:
                known = work[segment.kind]
                if known and known[-1][1] == start:
                    known[-1] = (known[-1][0], end)
                else:
                    known.append((start, end))
    transfers = zip(events.transfers.starts, events.transfers.ends, strict=True)
    work[WorkKind.COMMUNICATION] += intersect(unite(transfers), [window])
    slowest = tuple(
        NamedTime(events.names[name].label, calls[name], time / 1e9)
        for name, time in times.most_common(MOST_NAMES)
    )
    return {kind: unite(found) for kind, found in work.items()}, slowest


def _sum_kernels(events: RankEvents, window: Interval) -> tuple[NamedTime, ...]:
    """Return the kernels and copies with most time."""
    times: Counter[int] = Counter()
    calls: Counter[int] = Counter()
    device = events.device
    for start, end, name in zip(device.starts, device.ends, device.names, strict=True):
        if window[0] <= start < window[1]:
            times[name] += end - start
            calls[name] += 1
    return tuple(
        NamedTime(events.names[name].label, calls[name], time / 1e9)
        for name, time in times.most_common(MOST_NAMES)
    )


def _measure_latency(events: RankEvents, window: Interval) -> IssueLatency | None:
    """Return the time from launch to start of the kernels; None without their launches.

    A launch of a CUDA graph starts many kernels: the first one counts.
    """
    first: dict[int, int] = {}
    device = events.device
    for start, name, correlation in zip(
        device.starts, device.names, device.correlations, strict=True
    ):
        launch = events.launches.get(correlation)
        is_kernel = _kind_of(events.names, name) is not WorkKind.COPIES
        if launch and is_kernel and start >= launch[0]:
            first[correlation] = min(start, first.get(correlation, start))
    delays = sorted(
        start - events.launches[correlation][0]
        for correlation, start in first.items()
        if window[0] <= start < window[1]
    )
    if not delays:
        return None
    middle, high = delays[len(delays) // 2], delays[int(_HIGH_SHARE * (len(delays) - 1))]
    return IssueLatency(len(delays), middle / 1e9, high / 1e9)


def _sum_operations(events: RankEvents, window: Interval) -> float:
    return sum(
        operations
        for slices in events.threads.values()
        for start, operations in slices.list_operations()
        if window[0] <= start < window[1]
    )


def _measure_steps(
    steps: Steps,
    window: Interval,
    work: Work,
    busy: Sequence[Interval],
) -> list[StepTimes]:
    """Return the times of the whole window, then those of each step."""
    compute = unite(one for kind in COMPUTE for one in work.get(kind, ()))
    communication = work.get(WorkKind.COMMUNICATION, ())
    exposed = subtract(communication, compute)
    measured: list[StepTimes] = []
    for parts in ([Step("all", *window)], steps.found):
        windows = [(one.start, one.end) for one in parts]
        kinds = {kind: measure_within(work.get(kind, ()), windows) for kind in WorkKind}
        columns = [
            measure_within(times, windows) for times in (busy, compute, communication, exposed)
        ]
        for index, part in enumerate(parts):
            busy_ns, compute_ns, communication_ns, exposed_ns = (one[index] for one in columns)
            duration_ns = part.end - part.start
            measured.append(
                StepTimes(
                    name=part.name,
                    start_s=(part.start - window[0]) / 1e9,
                    duration_s=duration_ns / 1e9,
                    work=WorkTimes(**{f"{kind}_s": kinds[kind][index] / 1e9 for kind in WorkKind}),
                    busy_s=busy_ns / 1e9,
                    idle_s=(duration_ns - busy_ns) / 1e9,
                    compute_s=compute_ns / 1e9,
                    hidden_s=(communication_ns - exposed_ns) / 1e9,
                    exposed_s=exposed_ns / 1e9,
                )
            )
    return measured
