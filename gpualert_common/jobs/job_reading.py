"""Reading of a job: its digests, merged as they change."""

from __future__ import annotations

from collections import Counter

from gpualert_common.errors import StoreError
from gpualert_common.job_store.store import StoredFile
from gpualert_common.jobs.digest import Digest, DigestState, StoredDigest
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.jobs.job_report import JobReport
from gpualert_common.jobs.merging import JobMerger

BATCH = 32
"""Digests that are read at once: a slow store takes half a second for each, and the claim of the
reader has to be renewed meanwhile."""
_MOST_TRIES = 3
"""Reads of one digest that may fail; it then counts as missing until it changes."""
_FRESH_S = 2.0
"""Object stores stamp whole seconds: a digest that is younger may change without another stamp."""


class JobReader:
    """Reads the digests of a job in batches; one that has not changed is read once."""

    def __init__(self, directory: JobDirectory) -> None:
        self._directory = directory
        self._merger = JobMerger(directory.key)
        self._known: dict[str, tuple[float, int]] = {}
        self._failures: Counter[StoredFile] = Counter()
        self._left: list[StoredFile] = []
        self._fresh_after = 0.0

    def read_batch(self) -> bool:
        """Read the next changed digests; True if none is left.  Raises StoreError."""
        if not self._left:
            files = self._directory.list_digests()
            self._left = [file for file in files if self._known.get(file.name) != _stamp(file)]
            self._fresh_after = max((file.modified_at for file in files), default=0.0) - _FRESH_S
        while self._left[:BATCH]:
            batch, self._left = self._left[:BATCH], self._left[BATCH:]
            for file in batch:
                self._read(file)
            return not self._left
        return True

    def add_own(self, own: Digest) -> None:
        """Add the digest of the reader itself: it counts even where the store has an older one."""
        self._merger.add(StoredDigest(own, own.at - own.clock.offset_s))

    def conclude(self, now: float) -> JobReport | None:
        """Return the report at a time by the clock of the store; None without a digest."""
        return self._merger.conclude(now)

    def _read(self, file: StoredFile) -> None:
        try:
            stored = self._directory.read_digest(file)
        except StoreError:
            self._failures[file] += 1
            if self._failures[file] < _MOST_TRIES:
                raise
            stored = None
        is_final = stored is not None and stored.digest.state is DigestState.ENDED
        if stored is not None:
            self._merger.add(stored)
        if is_final or file.modified_at < self._fresh_after:
            self._known[file.name] = _stamp(file)


def _stamp(file: StoredFile) -> tuple[float, int]:
    return file.modified_at, file.size
