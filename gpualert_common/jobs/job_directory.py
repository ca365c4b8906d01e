"""The job directory: the folder of one job in the shared store.

::

    KEY/digests/RUN.json                     the digest of each run, renewed by its node
    KEY/alerts/ATTEMPT-NUMBER[-TURN].json    the claim of the node that sends an alert about the job
    KEY/alerts/ATTEMPT-early_KIND.json       the claim of the node that sends a warning
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec

from gpualert_common.job_store.store import JobStore, StoredFile
from gpualert_common.jobs.digest import MOST_BYTES, Digest, StoredDigest
from gpualert_common.structs import Struct

_DIGESTS, _ALERTS = "digests", "alerts"


class ClaimRelease(StrEnum):
    """Reason for which the owner of a claim gave it up."""

    JOB_RUNS = "job_runs"
    """The job goes on without a failure: ``waits_for`` names runs that have not ended."""
    REFUSED = "refused"
    """The channels of the owner refused the alert."""
    UNCHANGED = "unchanged"
    """The cause is the one that the alert before it named."""
    SAME_ATTEMPT = "same_attempt"
    """The claim is of an attempt that turned out to be the one before it."""


class AlertClaim(Struct, frozen=True, kw_only=True):
    """The claim of the node that sends an alert about a job.

    ``at`` is the time at which it was renewed last, by the clock of the claiming node; ``renewals``
    counts that.  ``claimed_at`` is the corrected time of the first claim of this alert, and
    ``merged_at`` that of the report.  ``sent_at`` is the time of the alert, None while it is not
    sent.  ``cause``, ``host`` and ``rank`` are those that the alert names.  ``root_at`` is the
    corrected time of the root cause.  A released claim is open to another node; ``refusals`` counts
    the nodes that could not send it.
    """

    run_id: str
    claimed_by: str
    at: float
    renewals: int = 0
    claimed_at: float = 0.0
    merged_at: float = 0.0
    sent_at: float | None = None
    cause: str | None = None
    host: str | None = None
    rank: int | None = None
    root_at: float | None = None
    release: ClaimRelease | None = None
    waits_for: tuple[str, ...] = ()
    refusals: int = 0


class JobDirectory:
    """The folder of one job in a store; a file that cannot be read counts as missing."""

    def __init__(self, store: JobStore, key: str) -> None:
        self.store = store
        self.key = key

    # -- digests ---------------------------------------------------------------------------

    def write_digest(self, digest: Digest) -> None:
        """Write or renew a digest.  Raises StoreError."""
        self.store.write(self._path(_DIGESTS, digest.run_id), msgspec.json.encode(digest))

    def list_digests(self) -> list[StoredFile]:
        """Return the files of all digests.  Raises StoreError."""
        return self.store.list_files(f"{self.key}/{_DIGESTS}")

    def read_digest(self, file: StoredFile) -> StoredDigest | None:
        """Return a digest; None where it is damaged or gone.  Raises StoreError."""
        data = self.store.read(f"{self.key}/{_DIGESTS}/{file.name}", MOST_BYTES)
        if data is None:
            return None
        try:
            digest = msgspec.json.decode(data, type=Digest)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        return StoredDigest(digest, file.modified_at)

    def read_changed(self, known: Mapping[str, float]) -> Iterator[tuple[str, StoredDigest]]:
        """Yield name and digest of each file whose time differs from the *known* one.

        Raises StoreError.
        """
        for file in self.list_digests():
            if known.get(file.name) != file.modified_at:
                found = self.read_digest(file)
                if found is not None:
                    yield file.name, found

    # -- claims ----------------------------------------------------------------------------

    def list_claims(self) -> list[StoredFile]:
        """Return the files of all claims.  Raises StoreError."""
        return self.store.list_files(f"{self.key}/{_ALERTS}")

    def read_claim(self, name: str) -> AlertClaim | None:
        """Return the claim of that name; None where there is none.  Raises StoreError."""
        data = self.store.read(self._path(_ALERTS, name), MOST_BYTES)
        try:
            return None if data is None else msgspec.json.decode(data, type=AlertClaim)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None

    def create_claim(self, name: str, claim: AlertClaim) -> bool:
        """Return whether the claim is ours: no other node had made it.  Raises StoreError."""
        return self.store.create(self._path(_ALERTS, name), msgspec.json.encode(claim))

    def renew_claim(self, name: str, claim: AlertClaim) -> None:
        """Replace our claim.  Raises StoreError."""
        self.store.write(self._path(_ALERTS, name), msgspec.json.encode(claim))

    def _path(self, folder: str, name: str) -> str:
        return f"{self.key}/{folder}/{name}.json"
