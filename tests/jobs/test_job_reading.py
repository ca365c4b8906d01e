"""Reading of a job from a store that does not give all its digests."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

import pytest

from gpualert_common.errors import StoreError
from gpualert_common.job_store.store import StoredFile
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.jobs.job_report import NodeState
from gpualert_common.jobs.reading.job_reading import BATCH, JobReader
from gpualert_common.jobs.reading.loading import find_keys, list_jobs, load_job
from gpualert_common.jobs.reading.reader_clock import ReaderClock
from gpualert_common.processes.host import host_name
from gpualert_common.structs import replace
from tests.jobs.composed_job import END, INTERVAL_S, KEY, compose, end, lose
from tests.jobs.stamping_store import SharedFiles, StampingStore

NODES = BATCH + 8


class RefusingStore(StampingStore):
    """A store that does not give some files; ``refused`` counts how often."""

    def __init__(self) -> None:
        super().__init__(SharedFiles(), lambda: END, lambda: None)
        self.refused: Counter[str] = Counter()

    def list_files(self, folder: str) -> list[StoredFile]:
        """Return the files in a folder; raises StoreError for a refused one."""
        if self.refused[folder]:
            raise StoreError(f"cannot list {folder}: Permission denied")
        return super().list_files(folder)

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """Return a file; raises StoreError for a refused one."""
        if self.refused[path]:
            self.refused[path] -= 1
            raise StoreError(f"cannot read {path}: Permission denied")
        return super().read(path, most_bytes)


@pytest.fixture
def store() -> RefusingStore:
    """A store with the digests of a job that completed."""
    store = RefusingStore()
    directory = JobDirectory(store, KEY)
    for node in range(NODES):
        directory.write_digest(end(compose(node, NODES), "none"))
    return store


def path_of(node: int) -> str:
    """Return the path of the digest of a node."""
    return f"{KEY}/digests/run-{node}.json"


@pytest.mark.parametrize("threads", [1, 4])
def test_refused_digest_is_read_again(store: RefusingStore, threads: int) -> None:
    """The digests count as read only once those that the store refused were read, too."""
    store.refused[path_of(3)] = 2
    reader = JobReader(JobDirectory(store, KEY), threads)
    failures = 0
    is_read = False
    while not is_read:
        try:
            is_read = reader.read_batch()
        except StoreError:
            failures += 1
    report = reader.conclude(END + 60)
    assert failures == 2
    assert report is not None
    assert report.verdict.headline == f"Completed on all {NODES} nodes"


def test_refused_digests_count_as_damaged(store: RefusingStore) -> None:
    """A digest that the store refuses hides no job; a store that refuses many is an error."""
    store.refused[path_of(3)] = 3
    found = load_job(store, KEY)
    assert found.damaged == 1
    assert found.report is not None
    assert f"{NODES - 1} of {NODES} nodes completed" in found.report.verdict.headline
    store.refused.update({path_of(node): 100 for node in range(NODES)})
    with pytest.raises(StoreError, match="Permission denied"):
        load_job(store, KEY)


@pytest.mark.parametrize("stamped_at", [END + 5.0, END - 5.0])
def test_cut_digest_is_a_sign_of_life(stamped_at: float) -> None:
    """A node whose newest digest is cut lived at its stamp, so it is not the lost one."""
    at = END - 9.0
    shared = SharedFiles()
    directory = JobDirectory(StampingStore(shared, lambda: at, lambda: None), KEY)
    reader = JobReader(directory)
    for node in range(3):
        directory.write_digest(compose(node, 3, at=at))
    assert reader.read_batch()
    at = stamped_at
    directory.store.write(f"{KEY}/digests/run-1.json", b'{"job": "sl')
    at = END + 2.0
    directory.write_digest(lose(2, nodes=3))
    assert reader.read_batch()
    report = reader.conclude(END + 30.0)
    assert report is not None
    lived = stamped_at > END
    assert {one.run_id: one.heard_at for one in report.nodes}["run-1"] == stamped_at
    assert report.verdict.cause == "node_failure"
    assert report.verdict.host == ("gpu0" if lived else None)


def test_folders_of_other_users_hide_no_job(store: RefusingStore) -> None:
    """A folder that a user may not read is left out of the list, and of the search by name."""
    JobDirectory(store, "slurm-18").write_digest(compose(0))
    store.refused["slurm-18/digests"] = 1
    assert [key for key, _ in list_jobs(store, 10)] == [KEY]
    assert find_keys("llama", store, 10) == [KEY]
    store.refused[f"{KEY}/digests"] = 1
    with pytest.raises(StoreError, match="Permission denied"):
        list_jobs(store, 10)


class SlowStore(RefusingStore):
    """A store whose reads end once ``together`` of them wait at the same time."""

    def __init__(self, together: int) -> None:
        super().__init__()
        self._barrier = threading.Barrier(together, timeout=30.0)

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """Return a file, after so many others are read, too."""
        self._barrier.wait()
        return super().read(path, most_bytes)


def test_digests_are_read_at_once() -> None:
    """A reader of a job reads several digests at the same time."""
    store = SlowStore(together=4)
    for node in range(8):
        JobDirectory(store, KEY).write_digest(end(compose(node, 8), "none"))
    report = load_job(store, KEY).report
    assert report is not None
    assert report.verdict.headline == "Completed on all 8 nodes"


class SlowListing(SlowStore):
    """A store whose lists end once ``together`` of them wait at the same time."""

    def list_files(self, folder: str) -> list[StoredFile]:
        """Return the files in a folder, after so many others are listed, too."""
        self._barrier.wait()
        return super().list_files(folder)


def test_jobs_are_listed_at_once() -> None:
    """The folders of many jobs are listed at the same time: a bucket may have thousands."""
    store = SlowListing(together=4)
    for number in range(8):
        JobDirectory(store, f"slurm-{number}").write_digest(compose(number))
    assert find_keys("run-5", store, most=0) == ["slurm-5"]


def test_slow_store(store: RefusingStore) -> None:
    """The digests that were read within the time are merged, and the rest is said to lack."""
    reader = JobReader(JobDirectory(store, KEY))
    reader.read_batch()
    assert "a part of its digests" in str(reader.read_all(until=time.monotonic()))
    report = reader.conclude(END + 1.0)
    assert report is not None
    assert sum(node.state is NodeState.ENDED for node in report.nodes) == BATCH


def test_store_that_is_down_is_asked_a_few_times(store: RefusingStore) -> None:
    """After a failed read no other one of the batch begins, and the time of a reader is bounded."""
    store.refused.update({path_of(node): 10 for node in range(NODES)})
    before = store.requests
    reader = JobReader(JobDirectory(store, KEY))
    assert reader.read_all(time.monotonic() + 60.0) is not None
    left = sum(store.refused.values())
    assert 10 * NODES - left <= 15
    reader = JobReader(JobDirectory(store, KEY))
    failure = reader.read_all(time.monotonic() - 1.0)
    assert "slow" in str(failure)
    assert sum(store.refused.values()) == left
    assert store.requests > before


RUNNING_NODES = 3


class ReaderTimes:
    """The clock of a reader that is *ahead_s* ahead; ``renew`` is called while it waits."""

    def __init__(self, ahead_s: float, renew: Callable[[float], None]) -> None:
        self._time = END + 6.0
        self._ahead_s = ahead_s
        self._renew = renew
        self.waited_s = 0.0

    def now(self) -> float:
        """Return the time by this clock."""
        return self._time + self._ahead_s

    def pause(self, seconds: float) -> None:
        """Let so much time pass."""
        self._time += seconds
        self.waited_s += seconds
        self._renew(self._time)


@pytest.mark.parametrize(
    ("ahead_s", "renewing", "silent", "waits"),
    [
        pytest.param(0.0, range(RUNNING_NODES), 0, False, id="right"),
        pytest.param(300.0, range(RUNNING_NODES), 0, True, id="ahead"),
        pytest.param(300.0, (), RUNNING_NODES, True, id="all-vanished"),
        pytest.param(86400.0, (), RUNNING_NODES, False, id="vanished-long-ago"),
    ],
)
def test_clock_of_the_reader(ahead_s: float, renewing: range, silent: int, waits: bool) -> None:
    """A reader whose clock is minutes ahead shows no run as silent that renews its digest."""
    time_of_store = END + 6.0
    store = StampingStore(SharedFiles(), lambda: time_of_store, lambda: None)
    directory = JobDirectory(store, KEY)
    for node in range(RUNNING_NODES):
        directory.write_digest(compose(node, RUNNING_NODES, at=END + node))

    def renew(now: float) -> None:
        nonlocal time_of_store
        time_of_store = now
        for node in renewing:
            if (now - END - node) % INTERVAL_S == 0.0:
                sequence = 101 + int(now - END)
                digest = compose(node, RUNNING_NODES, at=now)
                directory.write_digest(replace(digest, sequence=sequence))

    times = ReaderTimes(ahead_s, renew)
    reader = JobReader(directory)
    until = time.monotonic() + 60.0
    assert reader.read_all(until) is None
    report = ReaderClock(times.now, times.pause).conclude(reader, until)
    assert report is not None
    assert sum(node.state is NodeState.SILENT for node in report.nodes) == silent
    assert bool(times.waited_s) is waits
    assert times.waited_s <= 12.0


@pytest.mark.parametrize(("ahead_s", "silent"), [(300.0, 0), (0.0, 1)])
def test_reader_on_a_node_of_the_job(ahead_s: float, silent: int) -> None:
    """A reader on a node of the job knows the offset of its clock, and does not wait."""
    lost_at = END - 200.0 if silent else END + 5.0
    stamps = iter((END + 5.0, lost_at))
    store = StampingStore(SharedFiles(), lambda: next(stamps), lambda: None)
    directory = JobDirectory(store, KEY)
    here = compose(0, 2, at=END + 5.0, offset_s=ahead_s, host=host_name())
    for digest in (here, compose(1, 2, at=lost_at)):
        directory.write_digest(digest)
    times = ReaderTimes(ahead_s, lambda _now: None)
    times.pause(20.0)
    reader = JobReader(directory)
    until = time.monotonic() + 60.0
    assert reader.read_all(until) is None
    report = ReaderClock(times.now, times.pause).conclude(reader, until)
    assert report is not None
    assert sum(node.state is NodeState.SILENT for node in report.nodes) == silent
    assert times.waited_s == 20.0
