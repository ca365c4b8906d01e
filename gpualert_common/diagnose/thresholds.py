"""Thresholds: every number that a family or a warning decides by, with its reason and source."""

from __future__ import annotations

from typing import Self

_OURS = "ours; calibrated on the scenarios in tests/scenarios"


class Threshold(float):
    """A number that decides, with its unit, its reason, and the source of both."""

    unit: str
    reason: str
    source: str

    def __new__(cls, value: float, unit: str, reason: str, source: str = _OURS) -> Self:
        """Return the number *value* with its explanation."""
        made = super().__new__(cls, value)
        made.unit, made.reason, made.source = unit, reason, source
        return made


# -- samples -----------------------------------------------------------------------------------

CLOCK_SLACK_S = Threshold(
    2.0, "s", "an event is noticed later than it happens, and two clocks do not agree exactly"
)
SAMPLE_DELAY_S = Threshold(
    30.0, "s", "six periods of the sources: on a busy machine samples come late"
)
GPU_USED_MIB = Threshold(
    32.0, "MiB of a card", "a CUDA context takes hundreds of MiB; less is no use of it"
)
LEAST_LOOKS = Threshold(24.0, "looks", "two minutes: the first ones go into loading and compiling")

# -- A1: before training began ---------------------------------------------------------------

CONTEXT_ONLY = Threshold(
    0.02,
    "of the card",
    "a CUDA context and the libraries' own memory take less; a model takes more",
    "Grogh: GPU memory below 2 %",
)
TRAINED_GPU_S = Threshold(
    120.0,
    "s of GPU work",
    "loading a model and compiling it keep a GPU at work for a minute at most",
)

# -- A2: killed for memory -------------------------------------------------------------------

KILL_BEFORE_END_S = Threshold(
    30.0,
    "s",
    "a launcher ends the other ranks, and itself, some seconds after one of them was killed",
    "torchrun: 30 s between SIGTERM and SIGKILL for the ranks that are left",
)

# -- B1: GPU memory --------------------------------------------------------------------------

MEMORY_NEAR_FULL = Threshold(
    0.9,
    "of the card",
    "CUDA's context and the allocator's granularity keep the last per cent from any program",
    "peak of nvmlDeviceGetMemoryInfo_v2 as Grogh reads it",
)
CO_TENANT_SHARE = Threshold(
    0.1,
    "of the card",
    "what other processes hold is the reason only where it is more than contexts and rounding",
)

# -- B2: hardware ----------------------------------------------------------------------------

FAULT_BEFORE_END_S = Threshold(
    900.0,
    "s",
    "a collective that waits for a dead GPU gives up after its time-out, by default 10 minutes",
    "torch.distributed: default time-out of a NCCL process group; watchdog's own minutes on top",
)

FAULT_AT_ONCE_S = Threshold(
    60.0,
    "s",
    "a program meets a fault with its next call to the GPU, in milliseconds or after a checkpoint",
)

# -- B3: throttling --------------------------------------------------------------------------

THROTTLED_SHARE = Threshold(
    0.6,
    "of the time",
    "a card that is slowed down for most of a window is not well cooled or fed",
    "gpud: 0.6 hardware slowdowns a minute",
)
THROTTLE_WINDOW_S = Threshold(
    600.0, "s", "shorter spells come and go with the load", "gpud: a window of 10 minutes"
)
THROTTLE_LEAST_S = Threshold(60.0, "s", "a share of less than a minute is one of a few looks")
CLOCK_DROP = Threshold(
    0.8, "of its own earlier clock", "what a thermal slowdown takes, not a power cap"
)

# -- C3, F3: hangs ---------------------------------------------------------------------------

SILENCE_S = Threshold(120.0, "s", "an evaluation or a checkpoint may print nothing for a minute")
SILENCE_STEPS = Threshold(
    5.0,
    "times the longest step",
    "a step that takes five times the longest one seen is none",
    "NVRx: heartbeats at 5 times the observed interval",
)
IDLE_CPU = Threshold(
    0.05, "of one core", "a process that waits uses no CPU", "DLRover: CPU below 5 %"
)
IDLE_GPU_PERCENT = Threshold(
    1.0, "%", "a GPU without a kernel reads 0; one sample of housekeeping does not count"
)

# -- D: throughput ---------------------------------------------------------------------------

STARVED_GPU_PERCENT = Threshold(
    15.0,
    "%",
    "only severe under-use can be told without a baseline: milder cases depend on the model",
    "Grogh confirms near-zero engine activity only",
)
BUSY_CORES = Threshold(
    0.8, "of one core", "GPUs that wait for the CPU wait for a process that never rests"
)
WAITING_PERCENT = Threshold(
    20.0, "% of the time", "every task at once waited for storage: more than a slow first read"
)
LEAST_GPUS = Threshold(3.0, "GPUs", "of two nobody knows which is the slow one")
LEAST_CLOCKS = Threshold(
    12.0, "looks at a clock", "a minute: clocks are ramped up and down around a step"
)
STRAGGLER_RATIO = Threshold(
    0.75,
    "of the median of its peers",
    "below it a GPU holds up all others of a synchronous training",
    "NVRx: performance score below 0.75 relative to the others",
)
STRAGGLER_SHARE = Threshold(
    0.5,
    "of the looks at which all worked",
    "what is behind for less than half of a run may be a phase of the program",
)
LEAST_SAVES = Threshold(10.0, "checkpoints", "a short test may save at every step")
SAVES_PER_STEP = Threshold(
    0.5, "checkpoints a step", "a checkpoint every other step costs more than it saves", "Grogh"
)
EARLIER_RUNS = Threshold(
    3.0, "earlier runs that went well", "the median of fewer is moved by any one of them"
)
SLOWER_THAN_BEFORE = Threshold(
    1.5,
    "times the median of earlier runs",
    "between machines and versions a third more is common; and three standard deviations of theirs",
)
LEAST_TIMED_S = Threshold(
    5.0,
    "s of steps",
    "when a line arrived is known to a second; nobody waits for a run that is shorter",
)
LEAST_LONGER_S = Threshold(
    60.0,
    "s more than earlier runs in all",
    "a cold cache, a download or a busy neighbour costs a minute at the start",
)
SAME_STEPS = Threshold(
    0.1, "of the steps of earlier runs", "whole runs are compared where they did the same"
)
LOAD_OF_BEFORE = Threshold(
    0.8,
    "of the GPU's load in earlier runs",
    "a GPU that is held up by something else idles; one that is slow itself is as busy as ever",
)
SAVES_OF_BEFORE = Threshold(
    3.0,
    "times the checkpoints a step of earlier runs",
    "what a change of the interval makes, not an extra checkpoint at the end",
)

# -- E: training -----------------------------------------------------------------------------

LEAST_LOSS = Threshold(
    1e-3, "(the first loss)", "of one that begins near zero every noise is a multiple"
)
NO_GRADIENT = Threshold(1e-6, "(the gradient's norm)", "weights do not move by less")
NO_RATE = Threshold(1e-12, "(the learning rate)", "weights do not move by less")
DIVERGED_RATIO = Threshold(
    1.5,
    "times the loss of the first quarter",
    "a loss that ends half as high again as it began has not learned",
)
STILL_UP = Threshold(
    0.8,
    "of the orders of magnitude that the loss rose by at its peak",
    "one that has come down from its peak recovers: harder data, or a learning rate begun anew",
)
FLAT_RANGE = Threshold(
    0.01, "of the first loss", "noise of a mini-batch is larger where anything is learned"
)
LEAST_POINTS = Threshold(20.0, "logged losses", "quartiles of fewer are single numbers")
STEPS_OF_MEANT = Threshold(
    0.1,
    "of the steps that were meant",
    "a run that ends with 0 after a tenth of its steps, and saved nothing then, was cut short",
)
LEAST_EVALUATIONS = Threshold(2.0, "evaluations", "an early stop compares one with another")
LEAST_STEPS = Threshold(
    10.0, "steps", "no training is meant to end within ten steps", "Grogh; ours for the number"
)
STEPS_OF_BEFORE = Threshold(
    0.01, "of an earlier run's steps", "the same command does not end a hundred times sooner"
)
FEWER_THAN_BEFORE = Threshold(
    0.1,
    "of an earlier run's steps",
    "where no number of steps is told, data that grow and shrink from day to day do not explain it",
)
LEVEL_LOSSES = Threshold(5.0, "losses", "the level at a change of training is their median")
GOES_ON_LOSS_JUMP = Threshold(
    1.5,
    "times the last loss before",
    "a training that goes on begins near the loss that it had; another one far above it",
)

# -- G1: health ------------------------------------------------------------------------------

UNVERIFIED_FROM_S = Threshold(
    300.0,
    "s",
    "a shorter command that used no GPU is a test or a download: nobody asks whether it learned",
)

# -- while it goes on ------------------------------------------------------------------------

NAN_LOSSES = Threshold(
    3.0, "losses in a row", "one bad batch is skipped; that three are not is no accident"
)
NAN_NORMS = Threshold(
    40.0,
    "gradient norms in a row",
    "a loss scale of 2^32 that is halved at each overflow has become 1 by then",
    "Megatron-LM: --initial-loss-scale is 2^32; torch.amp.GradScaler begins at 2^16",
)
GPU_IDLE_S = Threshold(
    600.0, "s", "to save a large model, or to compute metrics, takes minutes without a GPU"
)
LONG_SILENCE_S = Threshold(
    600.0,
    "s",
    "what waits for a lost peer keeps its GPU busy until its watchdog gives up",
    "torch.distributed: default time-out of a NCCL process group",
)
LEAST_PRINTS = Threshold(
    20.0, "looks at which it had printed", "before that nobody knows how often it prints"
)
DISK_TREND_S = Threshold(180.0, "s", "most checkpoints are written within that, and are no trend")
DISK_FULL_WITHIN_S = Threshold(
    1800.0, "s", "time for somebody to make room; farther ahead a trend is a guess"
)
DISK_STEADY = Threshold(
    0.5, "of the mean loss of space", "each third of a steady trend has at least so much of it"
)
DISK_LEFT_GIB = Threshold(
    1.0, "GiB", "less than one checkpoint of a small model", "as disk_low of the source"
)
DISK_LEFT_SHARE = Threshold(
    0.1, "of the disk", "of one that is smaller than 10 GiB", "as disk_low of the source"
)
MEMORY_LEFT_SHARE = Threshold(0.05, "of the limit", "the batches of a step come and go within that")
MEMORY_LEFT_GIB = Threshold(4.0, "GiB", "of a limit above 80 GiB: there a twentieth is plenty")
MEMORY_LOOKS = Threshold(
    3.0, "looks in a row", "a peak of one moment is the training's own business"
)


FOLLOWS_WITHIN_S = Threshold(
    3600.0, "s", "watchdogs give up after half an hour; a later problem has another cause"
)


def every() -> dict[str, Threshold]:
    """Return all thresholds by name, in the order of the families."""
    return {name: value for name, value in globals().items() if isinstance(value, Threshold)}
