"""Claims of the warnings about a job: of each kind, one node sends one."""

from __future__ import annotations

from gpualert_common.jobs.alerts.alert_claims import find_attempt, list_claims
from gpualert_common.jobs.digests.digest import Digest
from gpualert_common.jobs.job_directory import AlertClaim, JobDirectory
from gpualert_common.report.formatting import one_line

_MOST_NAME = 100


def claim_warning(directory: JobDirectory, own: Digest, about: str, now: float) -> str:
    """Claim a warning for a run; return the other node that has it, empty if it is this run's.

    ``about`` is the event of the warning, "early_KIND".  Raises StoreError.
    """
    attempt = find_attempt(directory, list_claims(directory), own).attempt
    name = f"{attempt}-{about}"
    claim = AlertClaim(run_id=own.run_id, claimed_by=own.host, at=now)
    if directory.create_claim(name, claim):
        return ""
    found = directory.read_claim(name)
    if found is None or found.run_id == own.run_id:
        return ""  # a damaged one: a second warning is better than none
    return one_line(found.claimed_by, _MOST_NAME) or "another node"
