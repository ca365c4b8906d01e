"""Tests of the promises of every store, in a directory and in a bucket."""

from __future__ import annotations

import os
import time

import pytest

from gpualert_common.errors import StoreError
from gpualert_common.job_store import open_store
from gpualert_common.job_store.clock import compare_clocks
from gpualert_common.job_store.old_jobs import list_old_jobs
from gpualert_common.job_store.trial import try_store
from tests.job_store.concurrency import fork, race

PATH = "slurm-17/digests/a.json"


def test_what_does_not_exist(place: str) -> None:
    """A file and a folder that do not exist are None and empty, once anything was written."""
    store = open_store(place)
    store.write("other/x.json", b"1")
    assert store.read(PATH, 100) is None
    assert store.list_files("slurm-17/digests") == []
    assert store.list_folders("slurm-17") == []
    store.remove_file(PATH)
    store.remove_folder("slurm-17")


def test_write_read_list(place: str) -> None:
    """A file has what was written last; it is listed with its size and time."""
    store = open_store(place)
    before = time.time()
    store.write(PATH, b"first")
    store.write(PATH, b"second, and longer")
    assert store.read(PATH, 100) == b"second, and longer"
    assert store.read(PATH, 6) == b"second"
    (file,) = store.list_files("slurm-17/digests")
    assert (file.name, file.size) == ("a.json", 18)
    assert before - 1.1 <= file.modified_at <= time.time() + 0.1
    assert store.list_folders("slurm-17") == ["digests"]
    assert store.list_folders("") == ["slurm-17"]
    assert store.list_files("slurm-17") == []


def test_empty_file(place: str) -> None:
    """An empty file is empty, not missing."""
    store = open_store(place)
    store.write(PATH, b"")
    assert store.read(PATH, 100) == b""


def test_create(place: str) -> None:
    """The first one creates a file; later ones change nothing."""
    first, second = open_store(place), open_store(place)
    assert first.create(PATH, b"1") is True
    assert second.create(PATH, b"2") is False
    assert first.create(PATH, b"3") is False
    assert first.read(PATH, 100) == b"1"
    first.remove_file(PATH)
    assert second.create(PATH, b"2") is True


def test_remove_folder(place: str) -> None:
    """A folder is removed with all that is in it, and nothing beside it."""
    store = open_store(place)
    for path in ("a/digests/1.json", "a/digests/2.json", "a/alerts/1.json", "ab/digests/1.json"):
        store.write(path, b"x")
    store.remove_folder("a")
    assert store.list_folders("") == ["ab"]
    assert store.list_files("a/digests") == []


@pytest.mark.parametrize(
    "path", ["../x", "a/../../x", "/etc/x", "a//b", "a/.hidden", "", "a/b\0c", "a\n", "x" * 300]
)
def test_paths_that_lead_out(place: str, path: str) -> None:
    """A path that is not made of plain names is an error in each operation."""
    store = open_store(place)
    for use in (
        lambda: store.write(path, b"x"),
        lambda: store.create(path, b"x"),
        lambda: store.read(path, 1),
        lambda: store.remove_file(path),
        lambda: store.remove_folder(path),
    ):
        with pytest.raises(StoreError, match=r"job directory|has a name"):
            use()


def test_one_creator(place: str) -> None:
    """Of processes that create one name at the same time, exactly one succeeds."""
    processes, rounds = (4, 15) if place.startswith("s3") else (6, 25)
    assert race(place, processes, rounds) == [1] * rounds


def test_readers_see_whole_files(place: str) -> None:
    """A file that is replaced while others read it is never seen cut or mixed."""
    rounds = 20 if place.startswith("s3") else 400
    store = open_store(place)
    store.write(PATH, b"a" * 1000)
    writer = fork(lambda: _rewrite(place, rounds))
    seen = set()
    while os.waitpid(writer, os.WNOHANG)[0] == 0:
        data = store.read(PATH, 1 << 20)
        assert data is not None
        assert len(set(data)) == 1
        assert len(data) == 1000 + data[0] - ord("a")
        (file,) = store.list_files("slurm-17/digests")
        assert 1000 <= file.size < 1026
        seen.add(data[:1])
    assert len(seen) > 1


def _rewrite(place: str, rounds: int) -> None:
    store = open_store(place)
    for turn in range(rounds):
        letter = ord("a") + turn % 26
        store.write(PATH, bytes([letter]) * (1000 + letter - ord("a")))


def test_clock(place: str) -> None:
    """The offset of the local clock is within its error: the time of a write and a second."""
    trial = try_store(place, 5.0)
    assert trial.clock is not None
    assert abs(trial.clock.offset_s) <= trial.clock.error_s
    assert trial.clock.error_s < trial.seconds["renew"] + 1


def test_clock_that_is_off() -> None:
    """A clock that is three minutes ahead of the store is found to be so."""
    clock = compare_clocks(1180.0, 1180.2, 1000.0)
    assert abs(clock.offset_s - 179.6) < 1e-6
    assert clock.error_s == pytest.approx(0.6)


def test_trial(place: str) -> None:
    """A store that works passes the trial, which leaves nothing."""
    trial = try_store(place, 5.0)
    assert trial.problem == ""
    assert list(trial.seconds) == [
        "open",
        "write",
        "renew",
        "create",
        "create again",
        "list",
        "read",
        "remove",
    ]
    assert trial.clock is not None
    assert open_store(place).list_folders("") == []


def test_old_jobs(place: str) -> None:
    """A job is old by its newest file; folders of another kind are never listed."""
    store = open_store(place)
    store.write("a/digests/1.json", b"12345")
    store.write("b/digests/1.json", b"1")
    store.write("b/alerts/1.json", b"1")
    store.write("mine/results/1.json", b"1")
    store.write("c/digests/1.json", b"1")
    store.write("c/precious.txt", b"1")
    found = list(list_old_jobs(store, time.time() + 10))
    assert [(job.key, job.size) for job in found] == [("a", 5), ("b", 2)]
    assert list(list_old_jobs(store, time.time() - 60)) == []
