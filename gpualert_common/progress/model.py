"""Data classes for the progress of a training, as read from its logs.

Losses and norms can be ``nan`` or ``inf``.
"""

from __future__ import annotations

import math
from enum import StrEnum

from gpualert_common.model import SCHEMA
from gpualert_common.structs import Struct, field


class Phase(StrEnum):
    """Data that a loss was measured on."""

    TRAIN = "train"
    EVAL = "eval"


class Point(Struct, frozen=True):
    """One line with a position or a measurement of the training.

    ``step`` counts what the program calls steps, usually optimizer steps, from the start of the
    training over all epochs.  ``at`` is in seconds since 1970: the timestamp on the line (UTC
    unless it names a zone), or the arrival time from :func:`add_times`.  ``accuracy`` is a share,
    or the number as it is printed, which may be a percentage.  ``segment`` is an index into the
    segments of the progress.
    """

    file: str
    line: int
    offset: int
    phase: Phase = Phase.TRAIN
    step: int | None = None
    total_steps: int | None = None
    epoch: float | None = None
    loss: float | None = None
    learning_rate: float | None = None
    grad_norm: float | None = None
    step_s: float | None = None
    throughput: float | None = None
    throughput_unit: str | None = None
    accuracy: float | None = None
    reward: float | None = None
    at: float | None = None
    segment: int = 0

    @property
    def is_finite(self) -> bool:
        """False when the loss or the gradient norm is NaN or infinite."""
        return all(value is None or math.isfinite(value) for value in (self.loss, self.grad_norm))

    @property
    def position(self) -> float | None:
        """The step, else the epoch, else None."""
        return self.step if self.step is not None else self.epoch


class CheckpointAction(StrEnum):
    """Action on a checkpoint."""

    SAVED = "saved"
    LOADED = "loaded"


class Checkpoint(Struct, frozen=True):
    """A checkpoint that was saved or loaded; ``step`` is None if the log does not contain it."""

    action: CheckpointAction
    file: str
    line: int
    offset: int
    step: int | None = None
    path: str | None = None


class Start(StrEnum):
    """Kind of start of a training."""

    FRESH = "fresh"
    RESUMED = "resumed"
    UNKNOWN = "unknown"


class Marker(Struct, frozen=True):
    """A line about the start of the training: resumed, or nothing to resume."""

    says: Start
    text: str
    file: str
    line: int
    offset: int
    step: int | None = None


class StepJump(Struct, frozen=True):
    """The first move of a bar, which in a resumed run spans all skipped steps.

    ``then`` is the widest of the next moves, None when the bar did not move again.
    """

    before: int
    after: int
    file: str
    line: int
    offset: int
    total: int | None = None
    then: int | None = None

    @property
    def is_skip(self) -> bool:
        """True when the first move is too wide for the speed of the training."""
        return self.then is not None and self.after - self.before >= max(5, 3 * self.then)


class OutputCount(Struct, frozen=True):
    """A line with the number of values that the model chooses from: classes, or a vocabulary."""

    count: int
    text: str
    file: str
    line: int
    offset: int


class TrainingEndKind(StrEnum):
    """Kind of a message about the end of a training."""

    SUMMARY = "summary"
    FINISHED = "finished"
    STEP_LIMIT = "step_limit"
    NO_BATCHES = "no_batches"
    EARLY_STOP = "early_stop"
    DIVERGED = "diverged"
    INTERRUPTED = "interrupted"


class TrainingEnd(Struct, frozen=True):
    """A line in which the framework reports the end of the training.

    ``values`` are its numbers (seconds, steps per second, ...) under the framework's names.
    """

    kind: TrainingEndKind
    text: str
    file: str
    line: int
    offset: int
    values: dict[str, float] = field(default_factory=dict)


class Segment(Struct, frozen=True):
    """A series of ascending steps; a new segment begins where the steps start over.

    ``second_step`` and ``second_epoch`` are the next positions after the first.  They are None if
    there are none, or if the time decides when a line is printed, as for a bar.
    """

    file: str
    line: int
    offset: int
    points: int
    first_step: int | None = None
    second_step: int | None = None
    last_step: int | None = None
    first_epoch: float | None = None
    second_epoch: float | None = None
    last_epoch: float | None = None

    @property
    def start(self) -> Start:
        """Kind of start, judging by the positions alone.

        A training that logs every ten steps logs 10 first (or 0, or 1); a resumed one logs, for
        example, 510.  For a training that counts steps from 0 in each epoch, the first epoch
        decides.
        """
        by_step = _classify_start(self.first_step, self.second_step)
        if by_step is Start.RESUMED or self.first_epoch is None:
            return by_step
        if by_step is Start.UNKNOWN:
            return _classify_start(self.first_epoch, self.second_epoch)
        apart = None if self.second_epoch is None else self.second_epoch - self.first_epoch
        behind = apart is not None and self.first_epoch - 1 > 1.5 * apart
        return Start.RESUMED if behind else by_step


def _classify_start(first: float | None, second: float | None) -> Start:
    if first is None:
        return Start.UNKNOWN
    if first in (0, 1):
        return Start.FRESH
    if second is None or second <= first:
        return Start.UNKNOWN
    return Start.RESUMED if first > 1.5 * (second - first) + 1e-9 else Start.FRESH


class Counts(Struct, frozen=True):
    """Counts over the whole log, not only over the kept points.

    ``skipped_steps`` are steps that the framework did not apply (overflow, NaN gradients),
    ``nan_iterations`` is the framework's own count.  ``streams`` is the number of ranks or
    processes that log steps; the progress is that of one of them.
    """

    points: int = 0
    evals: int = 0
    first_step: int | None = None
    last_step: int | None = None
    total_steps: int | None = None
    last_epoch: float | None = None
    total_epochs: float | None = None
    non_finite: int = 0
    skipped_steps: int = 0
    overflows: int = 0
    nan_iterations: int = 0
    streams: int = 0


class Progress(Struct, frozen=True):
    """The progress of a training, from one or several logs.

    ``framework`` is the name of the module in :mod:`.formats` that parsed the lines; "generic" for
    lines of the program itself; None if no line was recognized.  ``flavour`` is a library on top
    of it ("trl" on "transformers").  ``by_reward`` is True for methods that optimize a reward or
    train opponents, whose losses need not fall.  ``unverifiable`` says what is unknown and why;
    it is empty when steps and losses were read.

    ``points`` are from training, in the order of the log and thinned (:mod:`.thinning`); ``evals``
    are from evaluation.  ``unread_bytes`` is the size of the skipped parts of a flood.
    """

    files: tuple[str, ...]
    framework: str | None = None
    flavour: str | None = None
    by_reward: bool = False
    unit: str = "step"
    unverifiable: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    points: tuple[Point, ...] = ()
    evals: tuple[Point, ...] = ()
    segments: tuple[Segment, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    markers: tuple[Marker, ...] = ()
    jump: StepJump | None = None
    endings: tuple[TrainingEnd, ...] = ()
    outputs: tuple[OutputCount, ...] = ()
    counts: Counts = field(default_factory=Counts)
    read_bytes: int = 0
    unread_bytes: int = 0
    schema: int = SCHEMA
