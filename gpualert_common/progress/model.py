"""What is known of a training's progress: plain data, made from a log and from nothing else.

Losses and norms may be ``nan`` or ``inf``: that is what people look for in them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

from gpualert_common.model import SCHEMA


class Phase(StrEnum):
    """What a measured loss was measured on."""

    TRAIN = "train"
    EVAL = "eval"


@dataclass(frozen=True, slots=True)
class Point:
    """One line that told how far the training is, or how well it does.

    ``step`` counts optimizer steps (or whatever the program calls so) from the start of the
    training, over all epochs.  ``at`` is in seconds since the epoch: a stamp on the line, taken as
    UTC where it names no zone, or the arrival that :func:`timed` found.  ``segment`` is the index
    among the progress's segments.
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
    at: float | None = None
    segment: int = 0

    @property
    def finite(self) -> bool:
        """False when the loss or the norm of the gradient is NaN or infinite."""
        return all(value is None or math.isfinite(value) for value in (self.loss, self.grad_norm))

    @property
    def position(self) -> float | None:
        """How far it is: the step, else the epoch, else None."""
        return self.step if self.step is not None else self.epoch


class CheckpointAction(StrEnum):
    """What became of a checkpoint."""

    SAVED = "saved"
    LOADED = "loaded"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that the log says was written or read; ``step`` is None where it is not told."""

    action: CheckpointAction
    file: str
    line: int
    offset: int
    step: int | None = None
    path: str | None = None


class Start(StrEnum):
    """Where a training began."""

    FRESH = "fresh"
    RESUMED = "resumed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Marker:
    """A line that says where the training begins: resumed, or with nothing to resume."""

    says: Start
    text: str
    file: str
    line: int
    offset: int
    step: int | None = None


@dataclass(frozen=True, slots=True)
class StepJump:
    """A bar's first move, which in a resumed run is as wide as all the steps that it skips.

    ``then`` is the widest of its next moves, None when it did not move again.
    """

    before: int
    after: int
    file: str
    line: int
    offset: int
    total: int | None = None
    then: int | None = None

    @property
    def skips(self) -> bool:
        """True when the first move is one that no speed explains."""
        return self.then is not None and self.after - self.before >= max(5, 3 * self.then)


class TrainingEndKind(StrEnum):
    """What a line at the end of a training says."""

    SUMMARY = "summary"
    FINISHED = "finished"
    STEP_LIMIT = "step_limit"
    NO_BATCHES = "no_batches"
    EARLY_STOP = "early_stop"
    DIVERGED = "diverged"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class TrainingEnd:
    """A line in which the framework says that, or how, the training ended; ``values`` in seconds,
    steps per second and so on, under the framework's own names.
    """

    kind: TrainingEndKind
    text: str
    file: str
    line: int
    offset: int
    values: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch in which the steps ascend; another one begins where they start over.

    ``second_step`` and ``second_epoch`` are what was told next, further on than the first; None
    where there was nothing, or where lines come by the clock and not by the step, as a bar's do.
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
        """Whether it begins where a training begins, by its positions alone.

        A training that logs every ten steps says 10 first (or 0, or 1), a resumed one 510.  One
        that counts steps anew in each epoch has a first epoch that gives it away.
        """
        by_step = _begins(self.first_step, self.second_step)
        if by_step is Start.RESUMED or self.first_epoch is None:
            return by_step
        if by_step is Start.UNKNOWN:
            return _begins(self.first_epoch, self.second_epoch)
        apart = None if self.second_epoch is None else self.second_epoch - self.first_epoch
        behind = apart is not None and self.first_epoch - 1 > 1.5 * apart
        return Start.RESUMED if behind else by_step


def _begins(first: float | None, second: float | None) -> Start:
    if first is None:
        return Start.UNKNOWN
    if first in (0, 1):
        return Start.FRESH
    if second is None or second <= first:
        return Start.UNKNOWN
    return Start.RESUMED if first > 1.5 * (second - first) + 1e-9 else Start.FRESH


@dataclass(frozen=True, slots=True)
class Counts:
    """How often, over all that was read, not only over the points that were kept.

    ``skipped_steps`` are those the framework says it did not apply (overflow, NaN gradients),
    ``nan_iterations`` those it counted itself; ``streams`` how many ranks or processes told steps,
    of which one was followed.
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


@dataclass(frozen=True, slots=True)
class Progress:
    """What one or several logs of a training say of its progress.

    ``framework`` is whose lines were understood: the name of a file in :mod:`.formats`; "generic"
    where no framework was recognised and lines of the program's own were; None where there was
    nothing. ``flavour`` is what was built on it ("trl" on "transformers"). ``by_reward`` is
    True of methods that optimise a reward or set two models against each other, whose losses need
    not fall. ``unverifiable`` says what cannot be known and why, empty where steps and losses were
    read.

    ``points`` are those of training in the order of the log, thinned (:mod:`.thinning`), ``evals``
    those of evaluation.  ``unread_bytes`` were passed over since the log was a flood.
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
    counts: Counts = field(default_factory=Counts)
    read_bytes: int = 0
    unread_bytes: int = 0
    schema: int = SCHEMA
