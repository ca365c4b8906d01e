"""Claims of the alerts about a job: their names, and those that the store has.

The first claim of an alert is named after the attempt and the number of the alert, "1-1".  A node
that takes it over makes the next turn of it, "1-1-2".  All names are made exclusively, so that of
all nodes one has each turn; the claim of the last turn counts.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpualert_common.jobs.digests.digest import ClockBasis, Digest
from gpualert_common.jobs.job_directory import AlertClaim, ClaimRelease, JobDirectory
from gpualert_common.jobs.renewal.clocks import correct_time
from gpualert_common.structs import Struct, replace

_ENDING = ".json"
_MOST_DIGITS = 7
"""Those of the highest number of an attempt in a digest."""
_MOST_ATTEMPTS = 50
"""Number of attempts, the last ones, that a run is compared with."""


class ClaimName(Struct, frozen=True, order=True):
    """The name of a claim; the first turn of it is 1."""

    attempt: int
    number: int
    turn: int = 1

    def __str__(self) -> str:
        """Return it as the store has it."""
        name = f"{self.attempt}-{self.number}"
        return name if self.turn == 1 else f"{name}-{self.turn}"

    @property
    def next_turn(self) -> ClaimName:
        """Name of the claim of the node that takes this one over."""
        return ClaimName(self.attempt, self.number, self.turn + 1)


class ClaimTable:
    """The names of all claims of a job at one time."""

    def __init__(self, names: Iterable[str]) -> None:
        self._last: dict[tuple[int, int], ClaimName] = {}
        for name in names:
            claim = _parse(name)
            if claim is not None:
                key = (claim.attempt, claim.number)
                self._last[key] = max(claim, self._last.get(key, claim))

    def find_last(self, attempt: int, number: int) -> ClaimName | None:
        """Return the last turn of the claim of an alert; None where nobody has claimed it."""
        return self._last.get((attempt, number))

    @property
    def attempts(self) -> list[int]:
        """Attempts that have a claim, in their order."""
        return sorted({attempt for attempt, _number in self._last})[-_MOST_ATTEMPTS:]


class ClaimedAttempt(Struct, frozen=True):
    """The attempt of a run, by the claims of its job.

    ``earlier`` is the claim of the attempt before it, where the run may also be a late one of that.
    """

    attempt: int
    earlier: AlertClaim | None = None


def list_claims(directory: JobDirectory) -> ClaimTable:
    """Return the claims that the store has.  Raises StoreError."""
    return ClaimTable(file.name for file in directory.list_claims())


def correct_clock(directory: JobDirectory, own: Digest) -> Digest:
    """Return the digest of a run with the offset of its clock that all other nodes assume.

    A run that ended before its first renewal has compared its clock with nothing: the stamp of its
    digest shows what it is.  Raises StoreError.
    """
    if own.clock.basis is not ClockBasis.NONE:
        return own
    stored = directory.find_stored(own.run_id)
    if stored is None:
        return own
    return replace(own, clock=replace(own.clock, offset_s=stored.offset_s))


def find_attempt(directory: JobDirectory, table: ClaimTable, own: Digest) -> ClaimedAttempt:
    """Return the attempt that a run belongs to.  Raises StoreError.

    Where nobody numbers the attempts, a run belongs to the first one whose alert was claimed after
    the start of the run.  A run that started after all claims begins a new attempt, or is late:
    only its merged job can tell.
    """
    if own.attempt is not None:
        return ClaimedAttempt(own.attempt)
    started_at = correct_time(own, own.started_at) - own.clock.error_s
    known: tuple[int, AlertClaim] | None = None
    for attempt in table.attempts:
        last = table.find_last(attempt, 1)
        claim = None if last is None else directory.read_claim(str(last))
        if claim is None:
            return ClaimedAttempt(attempt)
        is_of_known = claim.release is ClaimRelease.SAME_ATTEMPT and known is not None
        if started_at <= claim.claimed_at:
            if known is None:
                return ClaimedAttempt(attempt)
            return ClaimedAttempt(known[0]) if is_of_known else ClaimedAttempt(attempt, known[1])
        if not is_of_known:
            known = (attempt, claim)
    return ClaimedAttempt(1) if known is None else ClaimedAttempt(known[0] + 1, known[1])


def _parse(name: str) -> ClaimName | None:
    """Return the name of a claim of an alert; None for another file."""
    parts = name.removesuffix(_ENDING).split("-")
    if len(parts) not in (2, 3) or not all(_is_number(part) for part in parts):
        return None
    return ClaimName(*map(int, parts))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
