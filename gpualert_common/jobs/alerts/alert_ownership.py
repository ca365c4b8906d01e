"""Ownership of the alert about a job: the node that sends it, agreed by claims in the store.

A state machine without threads and sleeps: the sender calls :meth:`JobAlert.step` at the times that
it returns.  All times are by the clock of the caller, which must not go back.

The first failed run creates the claim of the alert and owns it: it alone merges the digests, so
that the requests of all nodes together grow with their number only.  The others read the claim
again and again.  Its owner renews it; if a reader sees no change for a lease, it takes the claim
over.  A reader measures that by its own clock, so that no two clocks are compared.
"""

from __future__ import annotations

from gpualert_common.errors import StoreError
from gpualert_common.jobs.alerts.alert_action import JobAlertAction
from gpualert_common.jobs.alerts.alert_additions import has_failed, may_change_cause
from gpualert_common.jobs.alerts.alert_claims import (
    ClaimedAttempt,
    ClaimName,
    correct_clock,
    find_attempt,
    list_claims,
)
from gpualert_common.jobs.alerts.alert_step import JobAlertStep
from gpualert_common.jobs.alerts.claim_release import (
    name_cause,
    reason_to_leave,
    release_merged,
    release_refused,
)
from gpualert_common.jobs.alerts.store_outage import MOST_RETRY_S, StoreOutage
from gpualert_common.jobs.digests.digest import Digest
from gpualert_common.jobs.job_directory import AlertClaim, ClaimRelease, JobDirectory
from gpualert_common.jobs.job_report import JobReport, JobState
from gpualert_common.jobs.reading.job_reading import JobReader
from gpualert_common.jobs.renewal.clocks import correct_time
from gpualert_common.report.formatting import one_line
from gpualert_common.structs import replace

__all__ = ["JobAlert", "JobAlertAction", "JobAlertStep"]

RENEW_S = 5.0
"""Time between two renewals of a claim."""
LEASE_S = 40.0
"""Time without a renewal after which a claim is taken over: several renewals were lost, or the
store took half a second for each digest of a batch."""
SENDING_LEASE_S = 180.0
"""The same for an owner that had decided to send: most probably it did, and could not note it since
the store fails for it."""
MERGE_S, MOST_MERGE_S = 2.0, 4.0
"""Time between two readings of the digests by the owner, at first and at last."""
_MERGE_GROWTH = 1.2
FIRST_POLL_S, MOST_POLL_S = 1.0, 20.0
"""Time between two readings of the claim by the others, at first and at last."""
_POLL_GROWTH = 1.5
VERDICT_S = 60.0
"""Time that the owner waits for its own verdict, where no other node shows a failure."""
GOOD_END_S = 90.0
"""Time that the owner whose run ended well waits for the ends of the others: a training ends on all
nodes within seconds, and a filesystem with caches shows that a minute later."""
MOST_WAIT_S = 600.0
"""Time after which the owner sends the alert in any case."""
MOST_ALERTS = 3
"""Alerts about one attempt, with its additions."""
_MOST_NAME = 100


class JobAlert:
    """The alert of one run that has ended, as a part of its job's alert.

    The owner of the claim sends the alert at ``latest_at`` even if the job is not settled: a
    process that ends with its container has no more time.  ``threads`` as for
    :class:`~gpualert_common.jobs.reading.job_reading.JobReader`.
    """

    def __init__(
        self,
        directory: JobDirectory,
        own: Digest,
        *,
        latest_at: float = float("inf"),
        threads: int = 1,
    ) -> None:
        self._directory = directory
        self._own = own
        self._latest_at = latest_at
        self._reader = JobReader(directory, threads)
        self._place: ClaimedAttempt | None = None
        self._looked_up: ClaimName | None = None
        self._name: ClaimName | None = None
        self._claim: AlertClaim | None = None
        self._owned_since = 0.0
        self._renewed_at = 0.0
        self._report: JobReport | None = None
        self._decided: JobAlertStep | None = None
        self._before: AlertClaim | None = None
        self._sent: dict[ClaimName, AlertClaim] = {}
        self._seen: tuple[ClaimName, AlertClaim | None, float] | None = None
        self._poll_s = FIRST_POLL_S
        self._merge_s = MERGE_S
        self._listed_at: float | None = None
        self._merged_at = 0.0
        self._is_alone = False
        self._visible_at = float("inf")
        self._outage = StoreOutage(own, latest_at)

    def note_published(self, now: float) -> None:
        """Note that the other nodes see the last digest of the run from the time ``now`` on."""
        self._visible_at = now

    # -- steps -----------------------------------------------------------------------------

    def step(self, now: float) -> JobAlertStep:
        """Return what to do at the time ``now``.

        A store that fails is tried again for a while; then the run sends its own alert.
        """
        if self._is_alone:
            return self._send_alone(now, "the job directory could not be reached")
        try:
            step = self._step(now)
        except StoreError as error:
            return self._retry(now, error)
        self._outage.note_answer()
        return step

    def _step(self, now: float) -> JobAlertStep:
        table = list_claims(self._directory)
        if self._place is None:
            self._own = correct_clock(self._directory, self._own)
            self._reader.add_own(self._own)
            self._place = find_attempt(self._directory, table, self._own)
        for number in range(1, MOST_ALERTS + 1):
            name = table.find_last(self._place.attempt, number)
            if name is None:
                return self._create(ClaimName(self._place.attempt, number), None, now)
            claim = self._sent.get(name) or self._directory.read_claim(str(name))
            step = self._step_at(name, claim, now)
            if step is not None:
                return step
            self._before = claim
        return self._leave(f"{MOST_ALERTS} alerts about the job were sent")

    def _step_at(
        self, name: ClaimName, claim: AlertClaim | None, now: float
    ) -> JobAlertStep | None:
        """Return what follows from the last claim of an alert; None to look at the next alert."""
        if claim is None:  # damaged, or written just now
            if name == self._name:
                return self._own_claim(name, self._claim_of(), now)
            return self._await_owner(name, None, now)
        if claim.sent_at is not None:
            self._sent[name] = claim
            if may_change_cause(self._own, claim):
                return None
            return self._leave(f"the alert of the job was sent by {_name_owner(claim)}")
        if claim.release is not None:
            return self._take_released(name, claim, claim.release, now)
        if claim.run_id == self._own.run_id:
            return self._own_claim(name, claim, now)
        return self._await_owner(name, claim, now)

    def _take_released(
        self, name: ClaimName, claim: AlertClaim, release: ClaimRelease, now: float
    ) -> JobAlertStep:
        """Take a released claim, or leave it."""
        if release is ClaimRelease.SAME_ATTEMPT and name != self._looked_up:
            self._place, self._looked_up = None, name
            return self._wait("the attempt of the run is looked up again", now)
        visible_at = max(self._visible_at, self._outage.failed_at)
        because = reason_to_leave(self._own, claim, release, visible_at)
        return self._leave(because) if because else self._create(name.next_turn, claim, now)

    # -- the claim of another node ---------------------------------------------------------

    def _await_owner(self, name: ClaimName, claim: AlertClaim | None, now: float) -> JobAlertStep:
        """Wait for the owner of a claim; take it over if it has not changed for a lease."""
        if self._seen is None or self._seen[:2] != (name, claim):
            self._seen = (name, claim, now)
        is_sending = claim is not None and claim.cause is not None
        stale_at = self._seen[2] + (SENDING_LEASE_S if is_sending else LEASE_S)
        if now >= stale_at:
            return self._create(name.next_turn, claim, now)
        self._decided = None  # another node has taken it over
        owner = "another node" if claim is None else _name_owner(claim)
        next_at = min(now + self._poll_s, stale_at)
        self._poll_s = min(MOST_POLL_S, self._poll_s * _POLL_GROWTH)
        return self._wait(f"{owner} is about to send the alert of the job", next_at)

    def _create(self, name: ClaimName, before: AlertClaim | None, now: float) -> JobAlertStep:
        """Claim an alert, or take it over from the owner of the claim *before*."""
        claim = self._make_claim(now)
        if before is not None:
            claim = replace(claim, refusals=before.refusals)
            if before.release is not ClaimRelease.SAME_ATTEMPT:
                claim = replace(claim, claimed_at=before.claimed_at)
        if self._directory.create_claim(str(name), claim):
            return self._own_claim(name, claim, now)
        return self._wait("another node claims the alert of the job", now + FIRST_POLL_S)

    def _make_claim(self, now: float) -> AlertClaim:
        own = self._own
        claimed_at = correct_time(own, now)
        return AlertClaim(run_id=own.run_id, claimed_by=own.host, at=now, claimed_at=claimed_at)

    # -- the own claim ---------------------------------------------------------------------

    def _own_claim(self, name: ClaimName, claim: AlertClaim, now: float) -> JobAlertStep:
        if self._name != name:
            self._name, self._claim, self._decided = name, claim, None
            self._owned_since = self._renewed_at = now
        if now >= self._renewed_at + RENEW_S:
            self._write(self._claim_of(), now)
        if self._decided is not None:
            return replace(self._decided, next_at=self._renewed_at + RENEW_S)
        is_late = now >= min(self._latest_at, self._owned_since + MOST_WAIT_S)
        if self._listed_at is None:
            self._listed_at = now
        if not self._reader.read_batch() and not is_late:
            return self._wait("the digests of the job are read", now)
        # A slow store takes a minute for thousands of digests: the first ones are of its begin.
        self._merged_at, self._listed_at = correct_time(self._own, self._listed_at), None
        report = self._reader.conclude(self._merged_at, self._own.run_id)
        self._report = report
        if report is None:
            if is_late:
                return self._send_alone(now, "the job directory has no digest")
            return self._wait("the job directory has no digest", now + MERGE_S)
        return self._decide(name, report, now, is_late=is_late)

    def _decide(
        self, name: ClaimName, report: JobReport, now: float, *, is_late: bool
    ) -> JobAlertStep:
        corrected = correct_time(self._own, now)
        earlier = None if self._place is None else self._place.earlier
        if earlier is not None and name.number == 1:
            if report.started_at <= earlier.claimed_at:
                return self._release(ClaimRelease.SAME_ATTEMPT, report, now)
            self._place = ClaimedAttempt(name.attempt)
        if not (is_late or report.is_settled or self._merged_at >= report.due_at):
            because = "the digests of other nodes may change the cause"
            pause_s = min(self._merge_s, max(0.0, report.due_at - corrected))
            self._merge_s = min(MOST_MERGE_S, self._merge_s * _MERGE_GROWTH)
            return self._wait(because, now + pause_s)
        if self._outage.is_recent(now) and not is_late and not report.is_complete:
            return self._wait("the job directory was out of reach until now", now + MOST_MERGE_S)
        verdict = report.verdict
        is_without_failure = report.state is JobState.RUNNING and verdict.cause == "none"
        if is_without_failure and not has_failed(self._own):
            if not is_late and now < self._owned_since + GOOD_END_S:
                return self._wait("the other runs of the job end", now + MOST_MERGE_S)
            return self._release(ClaimRelease.JOB_RUNS, report, now)
        if is_without_failure and not is_late and now < self._owned_since + VERDICT_S:
            return self._wait("the verdict of the run is not known yet", now + MOST_MERGE_S)
        before = self._before if name.number > 1 else None
        if before is not None and (verdict.cause, verdict.host) == (before.cause, before.host):
            return self._release(ClaimRelease.UNCHANGED, report, now)
        self._write(name_cause(self._claim_of(), report, self._merged_at), now)
        because = "this run sends the alert of the job"
        if is_without_failure:  # the verdict of this run comes late, and only it knows a failure
            because = "the verdict of the run is not known yet"
        self._decided = JobAlertStep(
            JobAlertAction.SEND if before is None else JobAlertAction.ADD,
            because,
            now + RENEW_S,
            None if is_without_failure else report,
            name.attempt,
            name.number,
            self._claim_of().claimed_at,
        )
        return self._decided

    def note_sent(self, now: float) -> None:
        """Note in the store that the alert was sent.  Raises StoreError.

        A run that sent its own alert alone notes that, too, where nobody else has claimed it.
        """
        if self._name is None:
            table = list_claims(self._directory)
            place = self._place or find_attempt(self._directory, table, self._own)
            last = table.find_last(place.attempt, 1)
            name = ClaimName(place.attempt, 1) if last is None else last.next_turn
            claim = self._make_claim(now)
            claim = replace(claim, sent_at=claim.claimed_at)
            self._directory.create_claim(str(name), claim)
            return
        self._write(replace(self._claim_of(), sent_at=correct_time(self._own, now)), now)

    def note_refused(self, now: float) -> None:
        """Note in the store that no channel of this run takes the alert.  Raises StoreError."""
        if self._name is not None:
            self._write(release_refused(self._claim_of()), now)
            self._name = self._claim = self._decided = None

    def _release(self, release: ClaimRelease, report: JobReport, now: float) -> JobAlertStep:
        """Give the claim up; the next step shows what follows from that."""
        self._write(release_merged(self._claim_of(), release, report, self._merged_at), now)
        self._name = self._claim = None
        if release is ClaimRelease.SAME_ATTEMPT:
            self._place = None
        return self._wait("the claim was given up", now)

    def _write(self, claim: AlertClaim, now: float) -> None:
        claim = replace(claim, at=now, renewals=claim.renewals + 1)
        self._directory.renew_claim(str(self._name), claim)
        self._claim, self._renewed_at = claim, now

    def _claim_of(self) -> AlertClaim:
        assert self._claim is not None
        return self._claim

    # -- answers ---------------------------------------------------------------------------

    def _wait(self, because: str, next_at: float) -> JobAlertStep:
        return JobAlertStep(JobAlertAction.WAIT, because, next_at)

    def _leave(self, because: str) -> JobAlertStep:
        return JobAlertStep(JobAlertAction.LEAVE, because)

    def _retry(self, now: float, error: StoreError) -> JobAlertStep:
        """Try a store that failed again later; after a while the run sends its own alert."""
        because = f"the job directory cannot be reached: {error}"
        next_at = self._outage.note_failure(now)
        if next_at is None:
            return self._send_alone(now, because)
        if self._decided is not None:  # the alert is being sent
            return replace(self._decided, next_at=next_at)
        return self._wait(because, next_at)

    def _send_alone(self, now: float, because: str) -> JobAlertStep:
        self._is_alone = True
        step = self._decided or JobAlertStep(JobAlertAction.SEND, because)
        if self._decided is None and self._name is not None and self._report is not None:
            name, claimed_at = self._name, self._claim_of().claimed_at
            step = replace(step, report=self._report, claimed_at=claimed_at)
            step = replace(step, attempt=name.attempt, number=name.number)
        return replace(step, next_at=now + MOST_RETRY_S)


def _name_owner(claim: AlertClaim) -> str:
    return one_line(claim.claimed_by, _MOST_NAME) or "another node"
