"""Progress of a training, read from its log: steps, losses, checkpoints, beginning and end."""

from gpualert_common.progress.beginnings import Beginning, beginning_of
from gpualert_common.progress.description import describe
from gpualert_common.progress.merging import merge
from gpualert_common.progress.model import (
    Checkpoint,
    CheckpointAction,
    Counts,
    Marker,
    Phase,
    Point,
    Progress,
    Segment,
    Start,
    StepJump,
    TrainingEnd,
    TrainingEndKind,
)
from gpualert_common.progress.reader import ProgressReader
from gpualert_common.progress.timestamps import read_index, stepped, timed
from gpualert_common.progress.training_logs import TrainingLogs

__all__ = [
    "Beginning",
    "Checkpoint",
    "CheckpointAction",
    "Counts",
    "Marker",
    "Phase",
    "Point",
    "Progress",
    "ProgressReader",
    "Segment",
    "Start",
    "StepJump",
    "TrainingEnd",
    "TrainingEndKind",
    "TrainingLogs",
    "beginning_of",
    "describe",
    "merge",
    "read_index",
    "stepped",
    "timed",
]
