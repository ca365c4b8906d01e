"""Reading of a job: its digests, merged as they change."""

from __future__ import annotations

import time
from collections import Counter
from itertools import takewhile
from typing import TypeAlias

from gpualert_common.errors import StoreError
from gpualert_common.job_store.store import StoredFile
from gpualert_common.jobs.digests.digest import ClockBasis, Digest, DigestState, StoredDigest
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.jobs.job_report import JobReport
from gpualert_common.jobs.merging.merger import JobMerger
from gpualert_common.processes.host import host_name

BATCH = 32
"""Digests that are read at once: a slow store takes half a second for each, and the claim of the
reader has to be renewed meanwhile."""
_MOST_TRIES = 3
"""Reads of one digest that may fail; it then counts as missing until it changes."""
_MOST_FAILURES = 9
"""Three digests that cannot be read, with their repetitions, leave the others to show the job."""
_FRESH_S = 2.0
"""Object stores stamp whole seconds: a digest that is younger may change without another stamp."""

_LEFT = StoreError("the digest was not read")
"""Result for a file whose reading did not begin."""
_Result: TypeAlias = StoredDigest | StoreError | None


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
        self._damaged: set[str] = set()
        self.newest_here: Digest | None = None
        """The newest digest of a run on this host that knows the offset of its clock."""

    @property
    def damaged(self) -> int:
        """Number of the digests that cannot be read: they count as missing."""
        return len(self._damaged)

    @property
    def heard_at(self) -> float:
        """Time of the newest sign of life of a run, in the common time; 0 without a digest."""
        return self._merger.heard_at

    def read_all(self, until: float) -> StoreError | None:
        """Read all changed digests, to a time by the monotonic clock; return why some are left.

        Never raises StoreError.
        """
        failure: StoreError | None = None
        for _ in range(_MOST_FAILURES):
            try:
                while not self.read_batch(until):
                    if time.monotonic() >= until:
                        return failure or StoreError("it is slow: a part of its digests was read")
                return None
            except StoreError as error:
                failure = error
            if time.monotonic() >= until:
                break
        return failure

    def read_batch(self, until: float = float("inf")) -> bool:
        """Read the next changed digests; True if none is left.

        No reading begins after the time *until* by the monotonic clock.  Raises StoreError where
        one cannot be read: it, and those after it, are read again by the next call.
        """
        if not self._left:
            files = self._directory.list_digests()
            self._left = [file for file in files if self._known.get(file.name) != _stamp(file)]
            self._fresh_after = max((file.modified_at for file in files), default=0.0) - _FRESH_S
        count = BATCH * self._threads
        batch, self._left = self._left[:count], self._left[count:]
        results = self._read_files(batch, until)
        self._left = batch[len(results) :] + self._left
        for number, (file, found) in enumerate(zip(batch, results, strict=False)):
            try:
                self._merge(file, found)
            except StoreError:
                self._left = batch[number : len(results)] + self._left
                raise
        return not self._left

    def add_own(self, own: Digest) -> None:
        """Add the digest of the reader itself: it counts even where the store has an older one."""
        self._merger.add(StoredDigest(own, own.at - own.clock.offset_s))

    def conclude(
        self, now: float, run_id: str = "", attempt: int | None = None
    ) -> JobReport | None:
        """Return the report at a time by the clock of the store; None without a digest.

        It is that of the newest attempt, or of the one with that number, or of the one that the run
        ``run_id`` belongs to.
        """
        return self._merger.conclude(now, self._merger.find_attempt(run_id) if run_id else attempt)

    def _read_files(self, files: list[StoredFile], until: float) -> list[_Result]:
        """Return the digests in the first of these files, or why they could not be read.

        After a failure no other reading begins: a store that is down is asked a few times only.
        """
        reading = _BatchReading(self._directory, until)
        if self._threads == 1 or len(files) == 1:
            results = list(map(reading.read, files))
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(self._threads) as pool:
                results = list(pool.map(reading.read, files))
        return list(takewhile(lambda one: one is not _LEFT, results))

    def _merge(self, file: StoredFile, found: _Result) -> None:
        """Merge what a file has; of one that cannot be read again and again, only its stamp."""
        if isinstance(found, StoreError):
            self._failures[file] += 1
            if self._failures[file] < _MOST_TRIES:
                raise found
            found = None
        is_final = found is not None and found.digest.state is DigestState.ENDED
        if found is None:
            self._damaged.add(file.name)
            self._merger.add_unreadable(file.name.removesuffix(".json"), file.modified_at)
        else:
            self._damaged.discard(file.name)
            self._merger.add(found)
            self._note_host(found.digest)
        if is_final or file.modified_at < self._fresh_after:
            self._known[file.name] = _stamp(file)

    def _note_host(self, digest: Digest) -> None:
        is_here = digest.host == host_name() and digest.clock.basis is not ClockBasis.NONE
        if is_here and (self.newest_here is None or digest.at > self.newest_here.at):
            self.newest_here = digest


class _BatchReading:
    """Reading of one batch by several threads, up to the first failure or the time ``until``."""

    def __init__(self, directory: JobDirectory, until: float) -> None:
        self._directory = directory
        self._until = until
        self._has_failed = False

    def read(self, file: StoredFile) -> _Result:
        """Return the digest in a file; None where it is damaged or gone."""
        if self._has_failed or time.monotonic() >= self._until:
            return _LEFT
        try:
            return self._directory.read_digest(file)
        except StoreError as error:
            self._has_failed = True
            return error


def _stamp(file: StoredFile) -> tuple[float, int]:
    return file.modified_at, file.size
