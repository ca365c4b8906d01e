"""Merging of the digests of a job into its report."""

from __future__ import annotations

from gpualert_common.jobs.digest import StoredDigest
from gpualert_common.jobs.job_report import JobReport


class JobMerger:
    """Merges digests one by one, in any order, and keeps a summary of each.

    A newer digest of the same run replaces the older one.
    """

    def __init__(self, key: str) -> None:
        self._key = key

    def add(self, stored: StoredDigest) -> None:
        """Add one digest."""
        raise NotImplementedError

    def conclude(self, now: float) -> JobReport | None:
        """Return the report of the newest attempt at the time ``now`` by the clock of the store.

        None without a digest.
        """
        raise NotImplementedError
