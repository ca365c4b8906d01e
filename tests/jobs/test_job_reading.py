"""Reading of a job from a store that does not give all its digests."""

from __future__ import annotations

from collections import Counter

import pytest

from gpualert_common.errors import StoreError
from gpualert_common.job_store.store import StoredFile
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.jobs.job_reading import BATCH, JobReader
from gpualert_common.jobs.loading import find_keys, list_jobs, load_job
from tests.jobs.composed_job import END, KEY, compose, end
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
    store.refused[path_of(3)] = 1
    found = load_job(store, KEY)
    assert found.damaged == 1
    assert found.report is not None
    assert f"{NODES - 1} of {NODES} nodes completed" in found.report.verdict.headline
    store.refused.update(path_of(node) for node in range(NODES))
    with pytest.raises(StoreError, match="Permission denied"):
        load_job(store, KEY)


def test_folders_of_other_users_hide_no_job(store: RefusingStore) -> None:
    """A folder that a user may not read is left out of the list, and of the search by name."""
    JobDirectory(store, "slurm-18").write_digest(compose(0))
    store.refused["slurm-18/digests"] = 1
    assert [key for key, _ in list_jobs(store, 10)] == [KEY]
    assert find_keys("llama", store, 10) == [KEY]
    store.refused[f"{KEY}/digests"] = 1
    with pytest.raises(StoreError, match="Permission denied"):
        list_jobs(store, 10)
