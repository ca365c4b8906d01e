"""The analysis of the traces of a run, as data.  All times are seconds, all rates bytes per second.

docs/trace-analysis.md defines each number.
"""

from __future__ import annotations

from enum import StrEnum

from gpualert_common.spec import SCHEMA
from gpualert_common.structs import Struct
from gpualert_common.traces.collective_rates import CollectiveRate

MOST_NAMES = 12
"""Entries of a list of operators, kernels or gaps: those with most time."""
UNRECORDED = "nothing recorded"
"""Label of the part of a gap of which the trace has nothing."""


class TracedDevice(StrEnum):
    """The device whose work a trace is about."""

    GPU = "gpu"
    CPU = "cpu"


class StepRule(StrEnum):
    """The sign by which the steps of a trace are found."""

    PROFILER = "profiler"
    """``step()`` of torch.profiler."""
    OPTIMIZER = "optimizer"
    REPETITION = "repetition"
    """Some operator or kernel that comes back at equal distances."""
    NONE = "none"
    """No sign: the whole trace counts as one step."""


class GapKind(StrEnum):
    """Activities of the CPU while the device has nothing to do."""

    INPUT = "input"
    SYNCHRONIZATION = "synchronization"
    """The CPU waits for the GPU, and then has nothing prepared for it."""
    COMMUNICATION = "communication"
    ISSUE = "issue"
    """The CPU works through operators and launches, slower than the GPU."""
    PYTHON = "python"
    UNRECORDED = "unrecorded"
    """The trace has nothing of that time: Python code between operators, without stacks."""


class WorkTimes(Struct, frozen=True):
    """Time in which the device did work of a kind; kinds overlap.

    On a GPU ``input_s`` is the part of the gaps in which the CPU waited for data.
    """

    matmul_s: float = 0.0
    attention_s: float = 0.0
    communication_s: float = 0.0
    copies_s: float = 0.0
    input_s: float = 0.0
    other_s: float = 0.0


class StepTimes(Struct, frozen=True):
    """Times of one step, or of all.

    ``start_s`` counts from the start of what is analysed.  ``busy_s`` and ``idle_s`` add up to
    ``duration_s``; ``compute_s`` is the time with computing work.  ``hidden_s`` and ``exposed_s``
    are the communication with and without computing at the same time.
    """

    name: str
    start_s: float
    duration_s: float
    work: WorkTimes
    busy_s: float
    idle_s: float
    compute_s: float
    hidden_s: float
    exposed_s: float


class GapCause(Struct, frozen=True):
    """An activity of the CPU in the gaps of the device, and its time in them."""

    label: str
    kind: GapKind
    total_s: float
    gaps: int


class NamedTime(Struct, frozen=True):
    """Time of all calls of an operator without the operators that it calls, or of a kernel."""

    name: str
    calls: int
    total_s: float


class IssueLatency(Struct, frozen=True):
    """Time from the start of the launching call on the CPU to the start of the kernel."""

    kernels: int
    median_s: float
    high_s: float
    """95 of 100 kernels start sooner."""


class RankAnalysis(Struct, frozen=True):
    """The analysis of one rank.

    ``operations`` are floating-point operations of all operators with known shapes, 0 if the trace
    has none.  ``skipped`` and ``unreadable`` count events that are not in the numbers.
    ``step_sign`` is the name of what marks the steps.
    """

    rank: str
    pid: int
    path: str
    device: TracedDevice
    step_rule: StepRule
    step_sign: str
    total: StepTimes
    step_count: int
    steps: tuple[StepTimes, ...] = ()
    gaps: tuple[GapCause, ...] = ()
    operators: tuple[NamedTime, ...] = ()
    kernels: tuple[NamedTime, ...] = ()
    latency: IssueLatency | None = None
    collectives: tuple[CollectiveRate, ...] = ()
    operations: float = 0.0
    has_stacks: bool = False
    events: int = 0
    skipped: int = 0
    unreadable: int = 0


class UnreadRank(Struct, frozen=True):
    """A rank whose trace could not be read, and the reason."""

    rank: str
    path: str
    problem: str


class DelayKind(StrEnum):
    """The kind of work by which a rank is slower than the others."""

    COMPUTE = "compute"
    COPIES = "copies"
    INPUT = "input"
    CPU = "cpu"
    """Gaps in which the device waits for the CPU."""
    UNKNOWN = "unknown"


class TraceDelay(Struct, frozen=True):
    """The rank that the others wait for in collectives.

    ``wait_s`` is the time in each step that the others spend longer in communication; ``excess_s``
    the time that the rank itself spends longer in the work of ``kind``.  ``detail`` is the kernel,
    operator or activity of the CPU that takes most of it, empty if none does.
    """

    rank: str
    kind: DelayKind
    wait_s: float
    excess_s: float
    step_s: float
    detail: str = ""


class RankComparison(Struct, frozen=True):
    """The ranks compared: the delay, or the reason why there is none.

    ``obstacle`` is the reason why the ranks cannot be compared, ``doubt`` why their difference is
    no sign of a slow rank.
    """

    delay: TraceDelay | None = None
    obstacle: str = ""
    doubt: str = ""


class TraceAnalysis(Struct, frozen=True):
    """The analysis of the traces of all ranks."""

    ranks: tuple[RankAnalysis, ...] = ()
    left_out: tuple[UnreadRank, ...] = ()
    comparison: RankComparison = RankComparison()
    schema: int = SCHEMA
