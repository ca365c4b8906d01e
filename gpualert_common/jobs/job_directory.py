"""The job directory: the folder of one job in the shared store.

::

    KEY/digests/RUN.json                    the digest of each run, renewed by its node
    KEY/alerts/ATTEMPT-NUMBER[-TURN].json   the claim of the node that sends an alert about the job
    KEY/alerts/ATTEMPT-early_KIND.json      the claim of the node that sends a warning
    KEY/clocks/reference.json               the clock of one node, and when it saw the others
"""

from __future__ import annotations

from enum import StrEnum

from gpualert_common.errors import StoreError
from gpualert_common.job_store.store import JobStore, StoredFile
from gpualert_common.jobs.digests.digest import MOST_BYTES, ClockOffset, Digest, StoredDigest
from gpualert_common.jobs.digests.digest_codec import (
    decode_file,
    encode_file,
    is_plausible,
    is_plausible_offset,
)
from gpualert_common.quantities import Number, Time
from gpualert_common.structs import Struct, field

_DIGESTS, _ALERTS, _CLOCKS = "digests", "alerts", "clocks"
_REFERENCE = "reference"
_MOST_REFERENCE_BYTES = 1 << 20
"""Limit of the reference: some 60 bytes for each of 10,000 runs."""


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
    at: Time
    renewals: Number = 0
    claimed_at: Time = 0.0
    merged_at: Time = 0.0
    sent_at: Time | None = None
    cause: str | None = None
    host: str | None = None
    rank: Number | None = None
    root_at: Time | None = None
    release: ClaimRelease | None = None
    waits_for: tuple[str, ...] = ()
    refusals: Number = 0


class ReferenceClock(Struct, frozen=True, kw_only=True):
    """The clock that the nodes of a job compare theirs with: that of the node of run ``run_id``.

    ``at`` is its time just before this file was written, ``sequence`` counts the renewals.
    ``sightings`` has, by the run of each other node, the stamp of its digest that was seen last,
    and the time by this clock at which it was seen first.  ``steps`` counts how often this clock
    was set.
    """

    run_id: str
    at: Time
    node: Number | None = None
    started_at: Time = 0.0
    sequence: Number = 0
    steps: Number = 0
    clock: ClockOffset = ClockOffset()
    sightings: dict[str, tuple[Time, Time]] = field(default_factory=dict)


class JobDirectory:
    """The folder of one job in a store; a file that cannot be read counts as missing."""

    def __init__(self, store: JobStore, key: str) -> None:
        self.store = store
        self.key = key

    # -- digests ---------------------------------------------------------------------------

    def write_digest(self, digest: Digest) -> None:
        """Write or renew a digest.  Raises StoreError."""
        self.store.write(self._path(_DIGESTS, digest.run_id), encode_file(digest))

    def write_last_digest(self, digest: Digest) -> None:
        """Write the last digest of a run, and read it back.  Raises StoreError.

        A write of an earlier one may arrive late, or the store may have damaged it.
        """
        data, path = encode_file(digest), self._path(_DIGESTS, digest.run_id)
        self.store.write(path, data)
        if self.store.read(path, MOST_BYTES + 1) != data:
            raise StoreError(f"{path}: the store has another content than was written")

    def list_digests(self) -> list[StoredFile]:
        """Return the files of all digests.  Raises StoreError."""
        return self.store.list_files(f"{self.key}/{_DIGESTS}")

    def find_digest(self, run_id: str) -> StoredFile | None:
        """Return the file of the digest of a run; None where it has none.  Raises StoreError."""
        return self.store.find_file(self._path(_DIGESTS, run_id))

    def find_stored(self, run_id: str) -> StoredDigest | None:
        """Return the digest of a run; None where it has none.  Raises StoreError."""
        file = self.find_digest(run_id)
        return None if file is None else self.read_digest(file)

    def read_digest(self, file: StoredFile) -> StoredDigest | None:
        """Return a digest; None where it is damaged or gone.  Raises StoreError.

        A digest in the file of another run is damaged.
        """
        data = self.store.read(f"{self.key}/{_DIGESTS}/{file.name}", MOST_BYTES + 1)
        if data is None or len(data) > MOST_BYTES:
            return None
        digest = decode_file(Digest, data)
        if digest is None or not is_plausible(digest) or f"{digest.run_id}.json" != file.name:
            return None
        return StoredDigest(digest, file.modified_at)

    # -- claims ----------------------------------------------------------------------------

    def list_claims(self) -> list[StoredFile]:
        """Return the files of all claims.  Raises StoreError."""
        return self.store.list_files(f"{self.key}/{_ALERTS}")

    def read_claim(self, name: str) -> AlertClaim | None:
        """Return the claim of that name; None where there is none.  Raises StoreError."""
        data = self.store.read(self._path(_ALERTS, name), MOST_BYTES)
        return None if data is None else decode_file(AlertClaim, data)

    def create_claim(self, name: str, claim: AlertClaim) -> bool:
        """Return whether the claim is ours: no other node had made it.  Raises StoreError."""
        return self.store.create(self._path(_ALERTS, name), encode_file(claim))

    def renew_claim(self, name: str, claim: AlertClaim) -> None:
        """Replace our claim.  Raises StoreError."""
        self.store.write(self._path(_ALERTS, name), encode_file(claim))

    # -- the reference ---------------------------------------------------------------------

    def read_reference(self) -> ReferenceClock | None:
        """Return the clock to compare with; None where there is none.  Raises StoreError."""
        data = self.store.read(self._path(_CLOCKS, _REFERENCE), _MOST_REFERENCE_BYTES)
        found = None if data is None else decode_file(ReferenceClock, data)
        return found if found is not None and is_plausible_offset(found.clock) else None

    def write_reference(self, reference: ReferenceClock) -> None:
        """Replace the clock to compare with.  Raises StoreError."""
        self.store.write(self._path(_CLOCKS, _REFERENCE), encode_file(reference))

    def _path(self, folder: str, name: str) -> str:
        return f"{self.key}/{folder}/{name}.json"
