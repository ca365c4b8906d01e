"""Totals of ended runs: each counts once, and no total falls."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from gpualert_common.exporter.totals import MOST_KINDS, NAME, OTHER, Total, Totals, TotalsFile
from gpualert_common.listing.condition import Condition
from gpualert_common.listing.run_summary import RunSummary
from gpualert_common.structs import replace

RUN = RunSummary(
    run_id="run-0",
    path="/nowhere/runs/run-0",
    condition=Condition.FAILED,
    disposition="failed",
    cause="cuda_oom",
    attribution="job",
    gpu_seconds=100.0,
    wasted_gpu_seconds=40.0,
)
LABELS = ("failed", "cuda_oom", "job")


@pytest.fixture
def place(tmp_path: Path) -> str:
    """Return a state directory."""
    path = tmp_path / "state"
    path.mkdir(mode=0o700)
    return str(path)


def make_runs(*numbers: int) -> list[RunSummary]:
    """Return runs with these numbers in their ids."""
    return [replace(RUN, run_id=f"run-{number}") for number in numbers]


def count(file: TotalsFile, runs: list[RunSummary]) -> float:
    """Return the number of runs that a file counts once it has seen these."""
    return sum(value for (total, _), value in update(file, runs).items() if total is Total.RUNS)


def update(file: TotalsFile, runs: list[RunSummary]) -> Totals:
    """Return the totals of a file once it has seen these runs."""
    found = file.update(runs)
    assert found is not None
    return found


def test_run_counts_once(place: str) -> None:
    """A run counts once, for this exporter, for one that starts later, and for both at a time."""
    first, second = TotalsFile(place), TotalsFile(place)
    assert count(first, make_runs(0, 1)) == 2
    assert count(second, make_runs(0, 1)) == 2
    assert count(second, make_runs(0, 1, 2)) == 3
    assert count(first, make_runs(0, 1, 2)) == 3
    found = update(TotalsFile(place), [])
    assert found[Total.GPU_SECONDS, LABELS] == 300.0
    assert found[Total.WASTED_GPU_SECONDS, LABELS] == 120.0


def test_removed_runs_stay(place: str) -> None:
    """The totals do not fall when records are removed, nor with a new exporter."""
    assert count(TotalsFile(place), make_runs(*range(20))) == 20
    assert count(TotalsFile(place), []) == 20
    assert count(TotalsFile(place), make_runs(20)) == 21


@pytest.mark.parametrize(
    "incomplete",
    [
        {"condition": Condition.RUNNING},
        {"condition": Condition.LOST},
        {"condition": Condition.DAMAGED, "disposition": None},
        {"verdict_pending": True},
        {"disposition": None},
    ],
    ids=str,
)
def test_verdict_that_is_not_complete(place: str, incomplete: dict[str, object]) -> None:
    """A run counts when its verdict is complete, under the cause that it has then."""
    file = TotalsFile(place)
    assert count(file, [replace(RUN, **incomplete)]) == 0
    assert update(file, [RUN])[Total.RUNS, LABELS] == 1


@pytest.mark.parametrize("loss", ["removed", "damaged", "of another application"])
def test_file_is_lost_meanwhile(place: str, loss: str) -> None:
    """Totals do not fall when their file is lost while the exporter runs."""
    file, path = TotalsFile(place), Path(place, NAME)
    assert count(file, make_runs(*range(5))) == 5
    if loss == "removed":
        path.unlink()
    elif loss == "damaged":
        path.write_bytes(b"SQLite format 3\0" + os.urandom(5000))
    else:
        path.write_text("not a database")
    assert count(file, make_runs(*range(3, 7))) == 7
    assert count(TotalsFile(place), make_runs(*range(3, 8))) == 8


def test_file_of_a_newer_release(place: str) -> None:
    """A file of a newer release is not changed; there are no totals, and the reason is given."""
    file = TotalsFile(place)
    count(file, make_runs(0))
    with sqlite3.connect(Path(place, NAME)) as connection:
        connection.execute("PRAGMA user_version = 99")
    newer = TotalsFile(place)
    assert newer.update(make_runs(0, 1)) is None
    assert "newer" in newer.problem


def test_file_that_cannot_be_written(place: str) -> None:
    """While the file is locked runs are counted in memory; later they are stored, once."""
    file = TotalsFile(place)
    assert count(file, make_runs(0)) == 1
    with lock(place):
        assert count(file, make_runs(0, 1)) == 2
        assert "locked" in file.problem
    assert count(file, make_runs(0, 1)) == 2
    assert file.problem == ""
    assert count(TotalsFile(place), []) == 2


def test_run_is_removed_before_it_is_stored(place: str) -> None:
    """A run that was counted in memory stays counted when its record is removed, and is stored."""
    file = TotalsFile(place)
    assert count(file, make_runs(0)) == 1
    with lock(place):
        assert count(file, make_runs(0, 1, 2)) == 3
        assert count(file, []) == 3
    assert count(file, []) == 3
    assert count(TotalsFile(place), make_runs(1)) == 3


def test_file_that_is_locked_at_the_start(place: str) -> None:
    """An exporter that cannot read the file has no totals, which would be lower than before."""
    count(TotalsFile(place), make_runs(0, 1, 2))
    file = TotalsFile(place)
    with lock(place):
        assert file.update(make_runs(3)) is None
    assert count(file, []) == 4


def test_file_that_can_only_be_read_at_the_start(place: str) -> None:
    """The totals of a file that takes no rows are those in it, with the new runs in memory."""
    count(TotalsFile(place), make_runs(0, 1, 2))
    file = TotalsFile(place)
    with closing(sqlite3.connect(Path(place, NAME))) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert count(file, make_runs(2, 3)) == 4
        assert file.problem
    assert count(file, []) == 4
    assert file.problem == ""


@contextmanager
def lock(place: str) -> Iterator[None]:
    """Hold the lock of the file, as another exporter does."""
    with open(Path(place, "metrics.lock"), "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_state_directory_that_comes_later(tmp_path: Path) -> None:
    """Without a state directory there are no totals; it may come later."""
    place = tmp_path / "state"
    file = TotalsFile(str(place))
    assert file.update([]) is None
    place.mkdir(mode=0o700)
    assert count(file, make_runs(0)) == 1
    assert file.problem == ""


def test_two_exporters_at_a_time(place: str) -> None:
    """Exporters that count the same runs at the same time count each once."""
    runs = make_runs(*range(300))
    files = [TotalsFile(place) for _number in range(4)]

    def work(file: TotalsFile) -> None:
        for end in range(0, 301, 30):
            file.update(runs[:end])

    threads = [threading.Thread(target=work, args=(file,)) for file in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [count(file, runs) for file in files] == [300] * 4
    assert count(TotalsFile(place), []) == 300


def test_labels_are_bounded(place: str) -> None:
    """Causes and kinds that this release does not know share one label."""
    strange = [
        replace(RUN, run_id=f"s-{number}", cause=f"cause-{number}", attribution="nobody")
        for number in range(500)
    ]
    kinds = [
        replace(RUN, run_id=f"k-{number}", warnings=(f"early_kind{number}", "x" * 900, 'a"b'))
        for number in range(500)
    ]
    found = update(TotalsFile(place), [*strange, *kinds])
    runs = {labels for total, labels in found if total is Total.RUNS}
    assert runs == {("failed", OTHER, "unknown"), LABELS}
    warnings = {labels for total, labels in found if total is Total.WARNINGS}
    assert len(warnings) <= MOST_KINDS + 1
    assert (OTHER,) in warnings


def test_kind_keeps_its_series(place: str) -> None:
    """A kind of warnings that came before the others keeps its label, wherever it sorts."""
    file = TotalsFile(place)
    early = [replace(RUN, run_id="early", warnings=("zzz", 'a"b'))]
    late = [replace(RUN, run_id=f"k-{n}", warnings=(f"zz{n:03}",)) for n in range(2 * MOST_KINDS)]
    update(file, early)
    with lock(place):
        in_memory = update(file, late)
    stored = update(file, [])
    for found in (in_memory, stored, update(TotalsFile(place), late)):
        warnings = {
            kind: value for (total, (kind, *_)), value in found.items() if total is Total.WARNINGS
        }
        assert warnings["zzz"] == 1
        assert sum(warnings.values()) == 2 + len(late)
        assert warnings[OTHER] == 1 + len(late) - (MOST_KINDS - 2)


def test_record_that_was_not_listed(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose record is not listed for long, since a disk does not answer, counts once."""
    assert count(TotalsFile(place), make_runs(*range(10))) == 10
    month_later = time.time() + 30 * 86400
    monkeypatch.setattr(time, "time", lambda: month_later)
    for runs in ([], make_runs(*range(5)), []):
        assert count(TotalsFile(place), runs) == 10
    assert count(TotalsFile(place), make_runs(*range(11))) == 11


def test_rows_that_are_not_ours(place: str) -> None:
    """Rows with other values are left out."""
    count(TotalsFile(place), make_runs(0))
    rows = [
        ("runs", '["a"]', 1.0),
        ("runs", "{", 1.0),
        ("more", '["a","b","c"]', 1.0),
        ("gpu_seconds", '["a","b","c"]', "text"),
        ("runs", '["a","b","c"]', float("inf")),
    ]
    with sqlite3.connect(Path(place, NAME)) as connection:
        connection.executemany("INSERT INTO totals VALUES (?, ?, ?)", rows)
    assert count(TotalsFile(place), []) == 1
    shutil.rmtree(place)
