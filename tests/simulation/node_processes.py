"""Processes of a simulated node: the renewal of its digest, and its sender after the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from gpualert_common.errors import StoreError
from gpualert_common.jobs.alerts.alert_ownership import JobAlert, JobAlertAction, JobAlertStep
from gpualert_common.jobs.digests.digest import Digest
from gpualert_common.jobs.digests.digest_codec import encode_file
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.jobs.renewal.renewal_schedule import LEAST_DISTANCE_S
from gpualert_common.notify.job_agreement import NOTE_S
from tests.simulation.composition import compose_ended, compose_failing, compose_running
from tests.simulation.endings import make_template
from tests.simulation.job import SimulatedJob, SimulatedNode
from tests.simulation.store import CountingStore, StorePlace
from tests.simulation.virtual_time import Clock

_DELIVERY_S = 1.0
_RETRY_S = 15.0
_NOTICED_S = 1.5
"""Time after which the renewal knows the ends of all ranks, of which the last one takes 0.9 s."""


@dataclass(frozen=True)
class SentAlert:
    """An alert, and the true time of the decision to send it; without a report it is about the run
    of the sender only."""

    at: float
    by: str
    step: JobAlertStep


@dataclass
class PhaseCost:
    """Requests of nodes in one phase, and the time that the phase took of all of them together."""

    requests: int = 0
    seconds: float = 0.0
    nodes: int = 0

    @property
    def per_minute(self) -> float:
        """Requests of one node in a minute."""
        return 60.0 * self.requests / self.seconds if self.seconds else 0.0


@dataclass
class JobOutcome:
    """Outcome of a simulated job, as its processes fill it.

    ``published`` are the times at which the last digests were stored.
    """

    alerts: list[SentAlert] = field(default_factory=list)
    published: list[float] = field(default_factory=list)
    renewing: PhaseCost = field(default_factory=PhaseCost)
    waiting: PhaseCost = field(default_factory=PhaseCost)
    owning: PhaseCost = field(default_factory=PhaseCost)
    written_bytes: int = 0
    digests: int = 0


class NodeProcesses:
    """The processes of one node, on the store as that node sees it."""

    def __init__(
        self,
        job: SimulatedJob,
        node: SimulatedNode,
        clock: Clock,
        store: CountingStore,
        outcome: JobOutcome,
    ) -> None:
        self._job, self._node, self._clock, self._outcome = job, node, clock, outcome
        self._store = store
        self._directory = JobDirectory(store, job.key)
        self._sequence = 20
        self._has_published = False
        self._chance = Random(node.seed)

    def store_earlier(self, place: StorePlace) -> None:
        """Store the digest that the node wrote before the time of the simulation."""
        job, node = self._job, self._node
        at = node.heard_from - job.interval_s * self._chance.uniform(0.9, 1.1)
        digest = compose_running(job, node, at, self._sequence - 1)
        offset_s = node.clock_offset_s if job.store_offset_s is None else job.store_offset_s
        place.store(f"{job.key}/digests/{node.run_id}.json", encode_file(digest), at + offset_s)

    def renew(self) -> None:
        """Renew the digest until this process is killed."""
        while True:
            began, before = self._clock.now(), self._store.requests
            shown_at = self._find_failure()
            has_failed = shown_at is not None and shown_at <= began
            compose = compose_failing if has_failed else compose_running
            self._write(compose(self._job, self._node, began, self._sequence))
            self._sequence += 1
            wait_s = self._job.interval_s * self._chance.uniform(0.9, 1.1)
            if shown_at is not None and not has_failed:
                wait_s = min(wait_s, max(shown_at - self._clock.now(), LEAST_DISTANCE_S))
            self._clock.sleep(wait_s)
            cost = self._outcome.renewing
            cost.requests += self._store.requests - before
            cost.seconds += self._clock.now() - began

    def _find_failure(self) -> float | None:
        """Return the time at which the renewal notices that ranks ended with an error."""
        node = self._node
        if node.failed_at is None or node.dead_at is not None:
            return None
        is_good = all(one.code == 0 for one in make_template(node.ending).ranks)
        return None if is_good else node.failed_at + _NOTICED_S

    def send(self) -> None:
        """Publish the last digest, and send the alert of the job where that is the part of this
        node: the loop of :mod:`gpualert_common.notify.job_agreement`."""
        self._clock.sleep(self._node.verdict_s)
        own = compose_ended(self._job, self._node, self._clock.now(), self._sequence + 1)
        has_failed = own.verdict is not None and own.verdict.cause != "none"
        is_wanted = has_failed or self._job.wants_good_ends
        alert = JobAlert(self._directory, own) if is_wanted else None
        began, before = self._clock.now(), self._store.requests
        is_published = is_owner = False
        while alert is not None or not is_published:
            next_at = self._local_now() + _RETRY_S
            if not is_published:
                is_published = self._write(own, is_last=True)
                if alert is not None and is_published:
                    alert.note_published(self._local_now())
                if is_published and not self._has_published:
                    self._has_published = True  # a sender that is started again does it again
                    self._outcome.published.append(self._clock.now())
            if alert is not None:
                step = alert.step(self._local_now())
                next_at = step.next_at
                if step.action is JobAlertAction.LEAVE:
                    alert = None
                    continue
                if step.action is not JobAlertAction.WAIT:
                    is_owner = True
                    self._deliver(alert, step)
                    break
            self._clock.sleep(next_at - self._local_now())
        cost = self._outcome.owning if is_owner else self._outcome.waiting
        cost.nodes += 1
        cost.requests += self._store.requests - before
        cost.seconds += self._clock.now() - began

    def _deliver(self, alert: JobAlert, step: JobAlertStep) -> None:
        decided_at = self._clock.now()
        self._clock.sleep(_DELIVERY_S)
        self._outcome.alerts.append(SentAlert(decided_at, self._node.host, step))
        deadline = self._clock.now() + NOTE_S
        while True:
            try:
                return alert.note_sent(self._local_now())
            except StoreError:
                if self._clock.now() >= deadline:
                    return None
            self._clock.sleep(1.0)

    def _write(self, digest: Digest, *, is_last: bool = False) -> bool:
        before = self._store.written_bytes
        try:
            if is_last:
                self._directory.write_last_digest(digest)
            else:
                self._directory.write_digest(digest)
        except StoreError:
            return False
        self._outcome.digests += 1
        self._outcome.written_bytes += self._store.written_bytes - before
        return True

    def _local_now(self) -> float:
        return self._clock.now() + self._node.clock_offset_s
