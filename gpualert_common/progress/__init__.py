"""Progress of a training: steps, losses, start and end, read from its logs."""

from gpualert_common.progress.beginnings import Beginning, determine_start
from gpualert_common.progress.description import describe_progress
from gpualert_common.progress.merging import merge_progress
from gpualert_common.progress.model import (
    Checkpoint,
    CheckpointAction,
    Counts,
    Marker,
    OutputCount,
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
from gpualert_common.progress.timestamps import add_times, list_moments, measure_steps, read_index
from gpualert_common.progress.training_logs import TrainingLogs

__all__ = [
    "Beginning",
    "Checkpoint",
    "CheckpointAction",
    "Counts",
    "Marker",
    "OutputCount",
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
    "add_times",
    "describe_progress",
    "determine_start",
    "list_moments",
    "measure_steps",
    "merge_progress",
    "read_index",
]
