"""Reading of logs in tests: in one piece, in several pieces, and all logs of a run."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from gpualert_common.progress import (
    CheckpointAction,
    Progress,
    ProgressReader,
    Start,
    determine_start,
    merge_progress,
)

HERE = Path(__file__).parent


class ProgressSummary(NamedTuple):
    """The main values of a progress."""

    framework: str | None
    flavour: str | None
    start: Start
    first_step: int | None
    last_step: int | None
    total_steps: int | None
    points: int
    evals: int
    non_finite: int


def read(data: bytes, cuts: Iterable[int] = ()) -> Progress:
    """The progress of *data* fed in pieces that end at *cuts*."""
    reader = ProgressReader("train.log")
    for begin, end in pairwise([0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]):
        reader.feed(data[begin:end], begin)
    progress = reader.finish()
    assert not any("failed at" in note for note in progress.notes), progress.notes
    return progress


def read_folder(folder: Path) -> Progress:
    """The progress of the logs in a folder, stdout first."""
    parts = []
    for file in sorted(folder.glob("*.log"), reverse=True):
        reader = ProgressReader(file.name)
        reader.feed(file.read_bytes(), 0)
        parts.append(reader.finish())
    return merge_progress(parts)


def folders(kind: str) -> list[Path]:
    """Return the folders below ``captured`` or ``composed`` that hold logs."""
    return sorted(path.parent for path in (HERE / kind).glob("*/*.log"))


def summarize(progress: Progress) -> ProgressSummary:
    """Return the main values of *progress*."""
    counts = progress.counts
    return ProgressSummary(
        progress.framework,
        progress.flavour,
        determine_start(progress).start,
        counts.first_step,
        counts.last_step,
        counts.total_steps,
        counts.points,
        counts.evals,
        counts.non_finite,
    )


def saved_steps(progress: Progress) -> list[int]:
    """The steps at which checkpoints were saved."""
    steps = (one.step for one in progress.checkpoints if one.action is CheckpointAction.SAVED)
    return [step for step in steps if step is not None]
