"""Thresholds: every number that a family or a warning uses, with its reason and source."""

from __future__ import annotations

from gpualert_common.diagnose import training_thresholds
from gpualert_common.diagnose.threshold import CALIBRATED, Threshold

# -- samples -----------------------------------------------------------------------------------

CLOCK_SLACK_S = Threshold(
    2.0, "s", "an event is noticed after it happens, and two clocks never agree exactly"
)
SAMPLE_DELAY_S = Threshold(
    30.0, "s", "six periods of the sources: on a busy machine samples are late"
)
GPU_USED_MIB = Threshold(
    32.0, "MiB of a card", "a CUDA context takes hundreds of MiB; with less, the card is not in use"
)
LEAST_SAMPLES = Threshold(
    24.0, "samples", "two minutes: loading and compiling take the first samples"
)

TOO_FEW_SAMPLES = Threshold(
    2.0,
    "samples of a GPU",
    "one is taken at the launch and one at the end: a run of ten seconds has no other",
    "the period of the sources (5 s)",
)

# -- before training began -------------------------------------------------------------------------

CONTEXT_ONLY = Threshold(
    0.02,
    "of the card",
    "a CUDA context and the memory of libraries take less; a model takes more",
    "Grogh: GPU memory below 2 %",
)
TRAINED_GPU_S = Threshold(
    120.0, "s of GPU work", "loading and compiling a model keep a GPU busy for a minute at most"
)

# -- killed for memory -----------------------------------------------------------------------------

KILL_BEFORE_END_S = Threshold(
    30.0,
    "s",
    "a launcher stops the other ranks, and itself, some seconds after one of them was killed",
    "torchrun: 30 s between SIGTERM and SIGKILL for the remaining ranks",
)

# -- GPU memory ------------------------------------------------------------------------------------

MEMORY_NEAR_FULL = Threshold(
    0.9,
    "of the card",
    "the CUDA context and the allocator's granularity take the last per cent",
    "peak of nvmlDeviceGetMemoryInfo_v2 as Grogh reads it",
)
CO_TENANT_SHARE = Threshold(
    0.1,
    "of the card",
    "memory of other processes is the reason only if it is more than contexts and rounding",
)

# -- hardware --------------------------------------------------------------------------------------

FAULT_BEFORE_END_S = Threshold(
    900.0,
    "s",
    "a collective that waits for a dead GPU gives up after its time-out, by default 10 minutes",
    "torch.distributed: default time-out of a NCCL process group, plus minutes for its watchdog",
)

BASELINE_WITHIN_S = Threshold(
    2.0,
    "s after the launch",
    "a program that has loaded its framework and opened CUDA can harm a GPU, not one before that",
    "ours; measured with a stand-in for NVML, the first sample is complete 0.3 s after the launch",
)
STEPS_DESPITE_FAULT = Threshold(
    5.0,
    "steps after a fault",
    "a step that was submitted before a fault may be reported after it; the next one fails",
    "ours",
)
FAULT_AT_ONCE_S = Threshold(
    60.0, "s", "the next call to the GPU reports a fault: in milliseconds, or after a checkpoint"
)

# -- throttling ------------------------------------------------------------------------------------

THROTTLED_SHARE = Threshold(
    0.6,
    "of the time",
    "a card that is slowed down for most of a window lacks cooling or power",
    "gpud: hardware slowdowns in 6 of 10 minutes make a GPU unhealthy",
)
THROTTLE_WINDOW_S = Threshold(
    600.0,
    "s",
    "shorter slowdowns follow the load",
    "gpud: its window for hardware slowdowns is 10 minutes",
)
THROTTLED_STEP = Threshold(
    1.2,
    "times the time of a step before",
    "in less than ten minutes only slower steps show that a low clock matters; times vary by less",
    "ours; a clock below CLOCK_DROP makes steps that only compute 1.25 times as long",
)
THROTTLE_LEAST_S = Threshold(60.0, "s", "a share of less than a minute is a share of a few samples")
CLOCK_DROP = Threshold(
    0.8,
    "of its own earlier clock",
    "a thermal slowdown lowers the clock so far; a power cap does not",
    CALIBRATED,
)

# -- hangs -----------------------------------------------------------------------------------------

SILENCE_S = Threshold(
    120.0, "s", "an evaluation or a checkpoint may print nothing for a minute", CALIBRATED
)
SILENCE_STEPS = Threshold(
    5.0,
    "times the longest step",
    "a pause of five times the longest step is not a step",
    "NVRx: safety_factor of its calculated time-outs is 5",
)
BETWEEN_DUMPS_S = Threshold(
    30.0, "s", "a step, or the time between two lines of a loop, is shorter in most trainings"
)
LEAST_BETWEEN_DUMPS_S = Threshold(
    5.0, "s", "two dumps within moments show the same step, also of a process that advances"
)
LEAST_LEAD_S = Threshold(
    0.02,
    "s",
    "two ends that are seen at once have no known order; a rank that loses its peer needs longer, "
    "for a traceback and the end of its interpreter",
)
IDLE_CPU = Threshold(
    0.05,
    "of one core",
    "a process that waits uses no CPU",
    "DLRover: HANG_CPU_USAGE_RATE is 0.05, of all requested CPUs; ours: of one core",
)
GPU_UNUSED_S = Threshold(
    7200.0,
    "s",
    "loading data, a long evaluation on the CPU or a lunch break take less; people plan by hours",
)
IDLE_GPU_PERCENT = Threshold(
    1.0, "%", "a GPU without a kernel reads 0; one sample of housekeeping does not count"
)

# -- rendezvous ------------------------------------------------------------------------------------

RENDEZVOUS_WAIT_S = Threshold(
    60.0,
    "s",
    "nodes of one job start within a minute of each other; a slower start is no failure by itself",
    "torchrun: its agents wait 600 s for each other by default, and its stores 60 s",
)
RENDEZVOUS_WARNING_S = Threshold(
    300.0,
    "s",
    "a node that is scheduled late, or pulls a large image, comes minutes after the others",
    "torchrun: its agents give up after 600 s by default, so people still have five minutes",
)
LASTING_OBSTACLE_S = Threshold(
    120.0, "s", "ranks of one machine start within seconds: what is wrong now remains wrong"
)

# -- D: throughput ---------------------------------------------------------------------------

STARVED_GPU_PERCENT = Threshold(
    15.0,
    "%",
    "only severe under-use is clear without a baseline: milder cases depend on the model",
    "Grogh confirms near-zero engine activity only",
)
BUSY_CORES = Threshold(
    0.8, "of one core", "GPUs that wait for the CPU wait for a process that is always busy"
)
WAITING_PERCENT = Threshold(
    20.0,
    "% of the time",
    "all tasks waited for storage at the same time: more than a slow first read",
)
LEAST_GPUS = Threshold(
    3.0, "GPUs", "with two GPUs it is not clear which is the slow one", CALIBRATED
)
LEAST_CLOCKS = Threshold(12.0, "samples of a clock", "a minute: clocks rise and fall around a step")
STRAGGLER_RATIO = Threshold(
    0.75,
    "of the median of its peers",
    "below it a GPU holds up all others of a synchronous training",
    "NVRx: a performance score below 0.75 of the best rank; ours: of the median",
)
STRAGGLER_SHARE = Threshold(
    0.5,
    "of the samples in which all worked",
    "a lag of less than half of a run may be a phase of the program",
)
LEAST_SAVES = Threshold(10.0, "checkpoints", "a short test may save at every step")
SAVES_PER_STEP = Threshold(
    0.5, "checkpoints a step", "a checkpoint every other step costs more than it saves", "Grogh"
)
RARE_SAVES = Threshold(0.05, "checkpoints a step", "a tenth of the checkpoints of a save storm")
EARLIER_RUNS = Threshold(
    3.0, "successful earlier runs", "one run alone can move the median of fewer", CALIBRATED
)
SLOWER_THAN_BEFORE = Threshold(
    1.5,
    "times the median of earlier runs",
    "a third more is common between machines and versions; also three of their standard deviations",
    CALIBRATED,
)
PACE_WINDOW_S = Threshold(
    20.0,
    "s of steps in a window",
    "some readings of the log, whose time is known to 5 s",
)
PACE_WINDOW_STEPS = Threshold(
    10.0, "steps in a window", "the time of a single step varies with the length of its input"
)
PACE_WINDOWS = Threshold(
    4.0,
    "windows in a row",
    "a checkpoint or an evaluation between two steps makes one window slow, or two",
)
LEAST_TIMED_S = Threshold(
    5.0,
    "s of steps",
    "the time of a line is known to a second; the speed of a shorter run does not matter",
)
LEAST_LONGER_S = Threshold(
    60.0,
    "s more than earlier runs in all",
    "a cold cache, a download or a busy neighbour costs a minute at the start",
)
SAME_STEPS = Threshold(
    0.1, "of the steps of earlier runs", "whole runs are compared only if they did the same work"
)
LOAD_OF_BEFORE = Threshold(
    0.8,
    "of the GPU's load in earlier runs",
    "a GPU that waits is idle; a GPU that is slow itself is as busy as before",
    CALIBRATED,
)
SAVES_OF_BEFORE = Threshold(
    3.0,
    "times the checkpoints a step of earlier runs",
    "a change of the interval has this effect; an extra checkpoint at the end does not",
)

# -- health ----------------------------------------------------------------------------------------

UNVERIFIED_CONFIDENCE = Threshold(
    0.88, "confidence", "only the exit status speaks for success", "ours; below 0.9"
)
SHORT_SERIES_CONFIDENCE = Threshold(
    0.89,
    "confidence",
    "the noise of fewer than 20 losses is not known, and more than the exit status is",
    "ours; between that of an unverifiable run and 0.9",
)
UNVERIFIED_FROM_S = Threshold(
    300.0, "s", "a shorter command without a GPU is a test or a download, not a training"
)

# -- while it runs ---------------------------------------------------------------------------

NAN_LOSSES = Threshold(
    3.0, "losses in a row", "one bad batch is skipped; three in a row are not a coincidence"
)
NAN_NORMS = Threshold(
    40.0,
    "gradient norms in a row",
    "a loss scale of 2^32 that is halved at each overflow has become 1 by then",
    "Megatron-LM: --initial-loss-scale is 2^32; torch.amp.GradScaler begins at 2^16",
)
GPU_IDLE_S = Threshold(
    600.0, "s", "saving a large model, or computing metrics, takes minutes without a GPU"
)
LONG_SILENCE_S = Threshold(
    600.0,
    "s",
    "a rank that waits for a lost peer keeps its GPU busy until its watchdog gives up",
    "torch.distributed: default time-out of a NCCL process group",
)
LEAST_PRINTS = Threshold(
    20.0, "samples with new output", "with fewer it is not known how often it prints"
)
DISK_TREND_S = Threshold(180.0, "s", "writing a checkpoint takes less, and is not a trend")
DISK_FULL_WITHIN_S = Threshold(
    1800.0, "s", "time for people to free space; a longer forecast is a guess"
)
DISK_STEADY = Threshold(
    0.5, "of the mean loss of space", "each third of a steady trend has at least so much"
)
DISK_LEFT_GIB = Threshold(
    1.0, "GiB", "less than one checkpoint of a small model", "as disk_low of the source"
)
DISK_LEFT_SHARE = Threshold(
    0.1, "of the disk", "of a disk smaller than 10 GiB", "as disk_low of the source"
)
MEMORY_LEFT_SHARE = Threshold(0.05, "of the limit", "the batches of a step vary by less")
MEMORY_LEFT_GIB = Threshold(4.0, "GiB", "of a limit above 80 GiB, 5 % of which is plenty")
MEMORY_SAMPLES = Threshold(3.0, "samples in a row", "a short peak is normal for a training")
LIMIT_NEAR_SHARE = Threshold(
    0.1, "of the job's time", "a loss of work that is worth a message, and not yet the whole run"
)
LIMIT_NEAR_LEAST_S = Threshold(
    600.0, "s", "saving a large checkpoint takes minutes, and people have to read the message first"
)
LIMIT_NEAR_MOST_S = Threshold(
    3600.0, "s", "the pace of a training changes: an earlier forecast is a guess"
)
LIMIT_USABLE_SHARE = Threshold(
    0.9, "of the time left", "a last evaluation and a last checkpoint follow the last step"
)


FOLLOWS_WITHIN_S = Threshold(
    3600.0, "s", "watchdogs give up after half an hour; a later problem has another cause"
)


def list_thresholds() -> dict[str, Threshold]:
    """Return all thresholds by name, in the order of the families."""
    both = {**globals(), **vars(training_thresholds)}
    return {name: value for name, value in both.items() if isinstance(value, Threshold)}
