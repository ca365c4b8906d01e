"""Events of one rank, collected from its trace file for the analysis.

Times are nanoseconds from :attr:`RankEvents.origin_ns`, near the start of the trace.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence

from msgspec import UNSET, Raw, UnsetType

from gpualert_common.median import median
from gpualert_common.structs import Struct, field
from gpualert_common.traces.collective_rates import MOST_CALLS, CollectiveCall, read_gloo_call
from gpualert_common.traces.floating_point import count_operations
from gpualert_common.traces.slice_names import SliceNames, SliceSort
from gpualert_common.traces.thread_slices import ThreadSlices
from gpualert_common.traces.trace_file import TraceFile
from gpualert_common.traces.trace_head import TraceHead

MOST_EVENTS = 2_000_000
"""Events of one rank: ten seconds of a busy training.  They take 100 MB."""
MOST_FRAMES = 1_000_000
"""Calls of Python functions among them: these alone are left out of a larger trace."""
_MOST_THREADS = 1000
_MOST_STEPS = 100_000
_LONGEST_US = 3600e6
"""Longest trace, and the longest event of it."""
_STEP_PREFIXES = ("ProfilerStep#", "Optimizer.step#")
_TRANSFER_PREFIXES = ("gloo:", "nccl:", "mpi:", "ucc:")
"""Annotations of collectives: PyTorch opens one in the call and closes it when the data is there,
so that it does not nest with what the thread does meanwhile."""
_DEVICE_SORTS = frozenset(("kernel", "gpu_memcpy", "gpu_memset"))
_SORTS = {
    "cpu_op": SliceSort.OPERATOR,
    "user_annotation": SliceSort.ANNOTATION,
    "python_function": SliceSort.PYTHON,
}
_RUNTIME_SUFFIXES = ("_runtime", "_driver")


class EventArguments(Struct, frozen=True):
    """Arguments of an event that the analysis uses."""

    correlation: int = 0
    dims: Raw | UnsetType = field(default=UNSET, name="Input Dims")
    types: Raw | UnsetType = field(default=UNSET, name="Input type")
    inputs: Raw | UnsetType = field(default=UNSET, name="Concrete Inputs")
    collective: str = field(default="", name="Collective name")
    sent: int = field(default=0, name="In msg nelems")
    received: int = field(default=0, name="Out msg nelems")
    dtype: str = ""
    group_size: int = field(default=0, name="Group size")


class TraceEvent(Struct, frozen=True):
    """An event of a trace; ``ts`` and ``dur`` are microseconds."""

    ph: str
    name: str = ""
    cat: str = ""
    tid: int | str = 0
    ts: float = 0.0
    dur: float = 0.0
    args: EventArguments = EventArguments()


class DeviceWork:
    """Work on the GPUs of a rank, in columns."""

    def __init__(self) -> None:
        self.starts = array("q")
        self.ends = array("q")
        self.names = array("l")
        self.correlations = array("q")

    def __len__(self) -> int:
        return len(self.starts)

    def add(self, start: int, end: int, name: int, correlation: int) -> None:
        """Add a kernel or a copy."""
        self.starts.append(start)
        self.ends.append(end)
        self.names.append(name)
        self.correlations.append(correlation)


class StepMark(Struct, frozen=True):
    """An annotation of a step, or of a step of the optimizer."""

    name: str
    start: int
    end: int


class RankEvents:
    """Events of one rank.

    ``transfers`` are the collectives that the backends of PyTorch annotate.  ``launches`` has for
    each correlation the start of the call and its thread; ``span`` is the time in which PyTorch
    recorded.  ``skipped`` counts events over the limits, ``unreadable`` those with
    values that are not valid.
    """

    def __init__(self) -> None:
        self.head = TraceHead()
        self.origin_us: float | None = None
        self.names = SliceNames()
        self.device = DeviceWork()
        self.threads: dict[int | str, ThreadSlices] = defaultdict(ThreadSlices)
        self.transfers = ThreadSlices()
        self.launches: dict[int, tuple[int, int | str]] = {}
        self.calls: list[CollectiveCall] = []
        self.steps: list[StepMark] = []
        self.span: tuple[int, int] | None = None
        self.count = self.frames = self.skipped = self.unreadable = 0

    def add_batch(self, batch: Sequence[TraceEvent]) -> None:
        """Add events; those that are no time of work are passed over."""
        timed = [one for one in batch if one.ph == "X"]
        if self.origin_us is None and timed:
            self.origin_us = median(one.ts for one in timed)
        for event in timed:
            if abs(event.ts - (self.origin_us or 0.0)) <= _LONGEST_US >= event.dur >= 0:
                self._add(event)
            else:
                self.unreadable += 1

    def _add(self, event: TraceEvent) -> None:
        start = round((event.ts - (self.origin_us or 0.0)) * 1000)
        end = start + round(event.dur * 1000)
        is_device = event.cat in _DEVICE_SORTS
        sort = SliceSort.DEVICE if is_device else _SORTS.get(event.cat)
        if sort is None and event.cat.endswith(_RUNTIME_SUFFIXES):
            sort = SliceSort.RUNTIME
        if event.cat == "Trace":
            self.span = (start, end)
        elif sort is not None and not self._is_over_limits(event, sort):
            self.count += 1
            name = self.names.find(sort, event.name)
            if is_device:
                self._add_device_work(event, start, end, name)
            else:
                self._add_slice(event, sort, start, end, name)

    def _is_over_limits(self, event: TraceEvent, sort: SliceSort) -> bool:
        is_frame = sort is SliceSort.PYTHON
        is_new_thread = sort is not SliceSort.DEVICE and _cut(event.tid) not in self.threads
        is_over = (
            (is_frame and self.frames >= MOST_FRAMES)
            or self.count >= MOST_EVENTS
            or (is_new_thread and len(self.threads) >= _MOST_THREADS)
        )
        self.frames += is_frame and not is_over
        self.skipped += is_over
        return is_over

    def _add_device_work(self, event: TraceEvent, start: int, end: int, name: int) -> None:
        args = event.args
        correlation = args.correlation if 0 < args.correlation < 1 << 62 else 0
        self.device.add(start, end, name, correlation)
        if args.collective and len(self.calls) < MOST_CALLS:
            sizes = args.group_size, args.sent, args.received
            self.calls.append(
                CollectiveCall(args.collective[:40], args.dtype[:20], *sizes, end - start, start)
            )

    def _add_slice(
        self, event: TraceEvent, sort: SliceSort, start: int, end: int, name: int
    ) -> None:
        args = event.args
        operations = 0.0
        if sort is SliceSort.OPERATOR:
            operations = count_operations(event.name, args.dims, args.inputs)
        elif sort is SliceSort.RUNTIME:
            if args.correlation > 0:
                self.launches[args.correlation] = (start, _cut(event.tid))
        elif sort is SliceSort.ANNOTATION:
            self._add_annotation(event, start, end)
            if event.name.startswith(_TRANSFER_PREFIXES):
                self.transfers.add(start, end, name)
                return
        self.threads[_cut(event.tid)].add(start, end, name, operations)

    def _add_annotation(self, event: TraceEvent, start: int, end: int) -> None:
        if event.name.startswith(_STEP_PREFIXES) and len(self.steps) < _MOST_STEPS:
            self.steps.append(StepMark(event.name[:200], start, end))
        elif event.name.startswith("gloo:") and len(self.calls) < MOST_CALLS:
            args, ranks = event.args, self.head.group_size
            call = read_gloo_call(event.name, args.dims, args.types, ranks, (start, end))
            if call is not None:
                self.calls.append(call)


def _cut(thread: int | str) -> int | str:
    """Return the id of a thread, of which a trace may have a thousand."""
    return thread[:64] if isinstance(thread, str) else thread


def collect_events(path: str) -> RankEvents:
    """Return the events of a trace.  Raises UnreadableTraceError."""
    with TraceFile(path) as trace:
        events = RankEvents()
        for batch in trace.read(TraceEvent):
            events.head = trace.head
            events.add_batch(batch)
        events.head = trace.head
        events.unreadable += trace.unreadable
    return events
