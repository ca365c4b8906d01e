"""Tests of growing logs, including floods."""

from __future__ import annotations

import pytest

from gpualert_common.progress import Progress, TrainingLogs
from gpualert_common.progress.training_logs import WHOLE_BYTES

LINE = "step {} loss {:.6f} and what else a chatty program says of it in some 200 letters {}\n"
STEPS = 200_000


def read_pieces(log: bytes, piece_bytes: int) -> Progress:
    """Return the progress of a log that comes in pieces of that size."""
    training = TrainingLogs()
    for offset in range(0, len(log), piece_bytes):
        training.feed("output.log", log[offset : offset + piece_bytes], offset)
    found = training.finish()
    assert found is not None
    assert not training.problem
    return found


@pytest.fixture
def flood() -> bytes:
    """A log that is too large to be read whole."""
    lines = (
        LINE.format(step, 9 - 8 * step / STEPS, "x" * 120).encode() for step in range(1, STEPS + 1)
    )
    log = b"".join(lines)
    assert len(log) > WHOLE_BYTES
    return log


def test_flood(flood: bytes) -> None:
    """The first and the last step of a flood are found, for any size of the pieces."""
    found = read_pieces(flood, 1 << 20)
    assert (found.points[0].step, found.points[-1].step) == (1, STEPS)
    assert all(point.line == point.step for point in found.points)
    assert read_pieces(flood, (64 << 10) + 7).points == found.points


def test_truncated_log() -> None:
    """The points from before a truncation are dropped."""
    training = TrainingLogs()
    training.feed("output.log", b"step 500 loss 0.5\n", 0)
    training.reset("output.log")
    training.feed("output.log", b"step 1 loss 2.5\n", 0)
    found = training.finish()
    assert found is not None
    assert [point.step for point in found.points] == [1]


def test_nothing_was_read() -> None:
    """Without a log there is no progress."""
    assert TrainingLogs().finish() is None
