"""Totals of ended runs: each counts once, and no total falls."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest

from gpualert_common.exporter import totals
from gpualert_common.exporter.totals import MOST_KINDS, NAME, OTHER, Total, TotalsFile
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
    return sum(value for (total, _), value in file.update(runs).items() if total is Total.RUNS)


def test_run_counts_once(place: str) -> None:
    """A run counts once, for this exporter, for one that starts later, and for both at a time."""
    first, second = TotalsFile(place), TotalsFile(place)
    assert count(first, make_runs(0, 1)) == 2
    assert count(second, make_runs(0, 1)) == 2
    assert count(second, make_runs(0, 1, 2)) == 3
    assert count(first, make_runs(0, 1, 2)) == 3
    found = TotalsFile(place).update([])
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
    assert file.update([RUN])[Total.RUNS, LABELS] == 1


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
    """A file of a newer release is not changed; runs are counted in memory, and that is said."""
    file = TotalsFile(place)
    count(file, make_runs(0))
    with sqlite3.connect(Path(place, NAME)) as connection:
        connection.execute("PRAGMA user_version = 99")
    newer = TotalsFile(place)
    assert count(newer, make_runs(0, 1)) == 2
    assert "newer" in newer.problem


def test_file_that_cannot_be_written(place: str) -> None:
    """While the file is locked runs are counted in memory; later they are stored, once."""
    file = TotalsFile(place)
    assert count(file, make_runs(0)) == 1
    with open(Path(place, "metrics.lock"), "r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert count(file, make_runs(0, 1)) == 2
        assert "locked" in file.problem
    assert count(file, make_runs(0, 1)) == 2
    assert file.problem == ""
    assert count(TotalsFile(place), []) == 2


def test_state_directory_that_comes_later(tmp_path: Path) -> None:
    """Without a state directory nothing is counted; it may come later."""
    place = tmp_path / "state"
    file = TotalsFile(str(place))
    assert count(file, []) == 0
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
    found = TotalsFile(place).update([*strange, *kinds])
    runs = {labels for total, labels in found if total is Total.RUNS}
    assert runs == {("failed", OTHER, "unknown"), LABELS}
    warnings = {labels for total, labels in found if total is Total.WARNINGS}
    assert len(warnings) <= MOST_KINDS + 1
    assert (OTHER,) in warnings


def test_counted_runs_are_forgotten(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ids of runs whose records are gone are removed; the totals stay."""
    monkeypatch.setattr(totals, "_FORGET_AFTER_S", -1.0)
    file = TotalsFile(place)
    assert count(file, make_runs(*range(10))) == 10
    again = TotalsFile(place)
    assert count(again, make_runs(9)) == 10
    with sqlite3.connect(Path(place, NAME)) as connection:
        assert connection.execute("SELECT run_id FROM counted").fetchall() == [("run-9",)]
    assert count(TotalsFile(place), make_runs(9)) == 10
    later = TotalsFile(place)
    assert count(later, []) == 10  # all are forgotten
    assert count(later, make_runs(10)) == 11


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
