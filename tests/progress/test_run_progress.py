"""Progress of a recorded run: times at which its log grew, from an index of any length."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from gpualert_common.record import INDEX, SPEC, Record
from gpualert_common.record.record import describe
from gpualert_common.run_progress import MOST_ARRIVALS, read_arrivals
from gpualert_common.spec import RunSpec


def record_with_index(home: Path, index: bytes) -> Record:
    """Return a record that began at second 1000, with this index."""
    record = Record.create(str(home / "run"), sync=False)
    record.write_json(SPEC, describe(RunSpec(("python",)), record, created_at=1000.0))
    Path(record.path, INDEX).write_bytes(index)
    return record


def test_short_index(tmp_path: Path) -> None:
    """Each entry of a short index is a time and a size; an incomplete line is none."""
    record = record_with_index(tmp_path, b"1.0 10\n2.0 30\nnonsense\n3.0")
    assert read_arrivals(record, 0) == [(1001.0, 10), (1002.0, 30)]


def test_index_of_days(tmp_path: Path) -> None:
    """Of an entry for each second some 50,000 are returned, with even distances and both ends."""
    seconds = 5 * 86400
    record = record_with_index(
        tmp_path, b"".join(b"%d.0 %d\n" % (n, 50 * n) for n in range(1, seconds))
    )
    found = read_arrivals(record, 0)
    assert 0.9 * MOST_ARRIVALS < len(found) < 1.1 * MOST_ARRIVALS
    assert found[0] == (1001.0, 50)
    assert found[-1] == (1000.0 + seconds - 1, 50 * (seconds - 1))
    assert all(size == 50 * (at - 1000) for at, size in found)
    gaps = [after[0] - before[0] for before, after in pairwise(found)]
    assert max(gaps) < 20
