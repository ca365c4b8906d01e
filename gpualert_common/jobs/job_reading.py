"""Reading of a job: its digests, merged as they change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gpualert_common.errors import StoreError
from gpualert_common.job_store.store import StoredFile
from gpualert_common.jobs.digests.digest import Digest, DigestState, StoredDigest
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.jobs.job_report import JobReport
from gpualert_common.jobs.merging.merger import JobMerger

BATCH = 32
"""Digests that are read at once: a slow store takes half a second for each, and the claim of the
reader has to be renewed meanwhile."""
_MOST_TRIES = 3
"""Reads of one digest that may fail; it then counts as missing until it changes."""
_FRESH_S = 2.0
"""Object stores stamp whole seconds: a digest that is younger may change without another stamp."""


class JobReader:
    """Reads the digests of a job in batches; one that has not changed is read once.

    ``threads`` of them are read at the same time: a bucket takes some 30 ms for each.
    """

    def __init__(self, directory: JobDirectory, threads: int = 1) -> None:
        self._directory = directory
        self._threads = threads
        self._merger = JobMerger(directory.key)
        self._known: dict[str, tuple[float, int]] = {}
        self._failures: Counter[StoredFile] = Counter()
        self._left: list[StoredFile] = []
        self._fresh_after = 0.0

    def read_batch(self) -> bool:
        """Read the next changed digests; True if none is left.

        Raises StoreError where one cannot be read: it, and those after it, are read again by the
        next call.
        """
        if not self._left:
            files = self._directory.list_digests()
            self._left = [file for file in files if self._known.get(file.name) != _stamp(file)]
            self._fresh_after = max((file.modified_at for file in files), default=0.0) - _FRESH_S
        count = BATCH * self._threads
        batch, self._left = self._left[:count], self._left[count:]
        for number, (file, found) in enumerate(zip(batch, self._read_all(batch), strict=True)):
            try:
                self._merge(file, found)
            except StoreError:
                self._left = batch[number:] + self._left
                raise
        return not self._left

    def add_own(self, own: Digest) -> None:
        """Add the digest of the reader itself: it counts even where the store has an older one."""
        self._merger.add(StoredDigest(own, own.at - own.clock.offset_s))

    def conclude(self, now: float, run_id: str = "") -> JobReport | None:
        """Return the report at a time by the clock of the store; None without a digest.

        It is that of the newest attempt, or of the one that the run ``run_id`` belongs to.
        """
        return self._merger.conclude(now, self._merger.find_attempt(run_id) if run_id else None)

    def _read_all(self, files: list[StoredFile]) -> Iterable[StoredDigest | StoreError | None]:
        """Return the digests in these files, or why they could not be read."""
        if self._threads == 1 or len(files) == 1:
            return map(self._read, files)
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._read, files))

    def _read(self, file: StoredFile) -> StoredDigest | StoreError | None:
        try:
            return self._directory.read_digest(file)
        except StoreError as error:
            return error

    def _merge(self, file: StoredFile, found: StoredDigest | StoreError | None) -> None:
        """Merge what a file has; one that cannot be read again and again counts as missing."""
        if isinstance(found, StoreError):
            self._failures[file] += 1
            if self._failures[file] < _MOST_TRIES:
                raise found
            found = None
        is_final = found is not None and found.digest.state is DigestState.ENDED
        if found is not None:
            self._merger.add(found)
        if is_final or file.modified_at < self._fresh_after:
            self._known[file.name] = _stamp(file)


def _stamp(file: StoredFile) -> tuple[float, int]:
    return file.modified_at, file.size
