"""A training's progress: from the bytes of a log to steps, losses, and where it began and ended."""

from gpualert_common.progress.clock import read_index, stepped, timed
from gpualert_common.progress.merging import merge
from gpualert_common.progress.model import (
    Action,
    Checkpoint,
    Closing,
    Counts,
    Ending,
    Jump,
    Marker,
    Phase,
    Point,
    Progress,
    Segment,
    Start,
)
from gpualert_common.progress.reader import ProgressReader
from gpualert_common.progress.starts import Beginning, beginning_of
from gpualert_common.progress.training import Training
from gpualert_common.progress.words import describe

__all__ = [
    "Action",
    "Beginning",
    "Checkpoint",
    "Closing",
    "Counts",
    "Ending",
    "Jump",
    "Marker",
    "Phase",
    "Point",
    "Progress",
    "ProgressReader",
    "Segment",
    "Start",
    "Training",
    "beginning_of",
    "describe",
    "merge",
    "read_index",
    "stepped",
    "timed",
]
