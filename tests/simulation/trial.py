"""One simulated job from its seed to the comparison of its alert with the truth."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from gpualert_common.jobs.digests.digest_codec import encode_file
from gpualert_common.jobs.renewal.renewal_schedule import find_interval_s
from tests.simulation.disturbances import DISTURBANCES
from tests.simulation.faults import FAULTS
from tests.simulation.job import SimulatedJob, make_job
from tests.simulation.node_processes import JobOutcome, NodeProcesses
from tests.simulation.store import SimulatedStore, StorePlace
from tests.simulation.virtual_time import VirtualTime

_MOST_S = 3600.0
"""Time after the last end of a run at which a simulation stops."""
_RECOVERED_S = 1200.0
"""Time after which a command on the machine of a killed sender starts it again."""


@dataclass(frozen=True)
class TrialResult:
    """Result of one simulated job.

    ``verdict_s`` is the time from the last digest of an ended run before the alert to the decision
    to send it.  ``is_early`` says that other digests came later: it did not need them.  ``waits``
    are the requests of a node from its end until it leaves the alert to another one.  ``cpu_s`` is
    the time of the whole simulation.
    """

    fault: str
    disturbance: str
    seed: int
    nodes: int
    has_cause: bool
    has_culprit: bool
    alerts: int
    additions: int
    verdict_s: float
    is_early: bool
    cpu_s: float
    renewals_per_minute: float
    waits: float
    owner_per_minute: float
    digest_bytes: float
    answer: str
    truth: str

    @property
    def is_right(self) -> bool:
        """True if cause, culprit and number of alerts are right."""
        return self.has_cause and self.has_culprit and self.has_one_alert

    @property
    def has_one_alert(self) -> bool:
        """True for exactly one alert."""
        return self.alerts == 1


def plan_job(fault: str, disturbance: str, seed: int, nodes: int) -> SimulatedJob:
    """Return the job of that variant, always the same one."""
    job = make_job(fault, disturbance, seed, nodes, find_interval_s(nodes))
    FAULTS[fault](job)
    DISTURBANCES[disturbance](job)
    return job


def simulate(job: SimulatedJob) -> tuple[JobOutcome, StorePlace]:
    """Run the processes of all nodes in virtual time, to their ends."""
    clock, outcome = VirtualTime(), JobOutcome()
    place = StorePlace(job.store_offset_s)
    for digest, at in job.earlier:
        place.store(f"{job.key}/digests/{digest.run_id}.json", encode_file(digest), at)

    for node in job.nodes:
        chance = Random(node.seed)
        store = SimulatedStore(place, clock, chance, node.store, node.clock_offset_s)
        processes = NodeProcesses(job, node, clock, store, outcome)

        def watch_claims(path: str, restart: Callable[[], None] = processes.send) -> None:
            if "/alerts/" in path and job.owner_killed_after_s is not None:
                killed_at = clock.now() + job.owner_killed_after_s
                clock.kill_current(killed_at)
                clock.start(killed_at + _RECOVERED_S, restart)
                job.owner_killed_after_s = None

        store.on_created = watch_claims
        is_first_late = bool(node.store.outages or node.store.late_s or node.dead_at)
        if job.has_trained and is_first_late:
            processes.store_earlier(place)
        ended_at = _earliest(node.dead_at, node.ended_at)
        clock.start(node.heard_from, processes.renew, ended_at)
        if node.ended_at is not None and node.dead_at is None:
            clock.start(node.ended_at, processes.send, node.sender_dead_at)
            if node.sender_dead_at is not None:
                clock.start(node.sender_dead_at + _RECOVERED_S, processes.send)
    last = max(node.ended_at or job.fault_at for node in job.nodes)
    clock.run(last + _MOST_S)
    return outcome, place


def run_trial(fault: str, disturbance: str, seed: int, nodes: int) -> TrialResult:
    """Return the result of one variant."""
    began = time.process_time()
    job = plan_job(fault, disturbance, seed, nodes)
    outcome, _place = simulate(job)
    return assess_outcome(job, seed, outcome, time.process_time() - began)


def assess_outcome(job: SimulatedJob, seed: int, outcome: JobOutcome, cpu_s: float) -> TrialResult:
    """Compare the alerts with the truth."""
    truth, alerts = job.truth, outcome.alerts
    first = next((one for one in alerts if one.step.report is not None), None)
    report = first.step.report if first is not None else None
    has_cause = has_culprit = is_early = False
    answer, verdict_s = f"{len(alerts)} alerts, none about the job", 0.0
    if report is not None and first is not None:
        verdict = report.verdict
        rank = verdict.details.get("rank")
        has_cause = verdict.cause in truth.causes
        has_culprit = (verdict.host or "") in truth.culprits and (
            not truth.ranks or rank in truth.ranks
        )
        if verdict.cause == "time_limit":  # it ended all nodes; a warning names the slow one
            slow = " ".join(one.text for one in verdict.warnings if one.kind == "straggler")
            named = [node for node in job.nodes if node.host in truth.culprits]
            words = [f"rank {rank} " for node in named for rank in node.ranks]
            has_culprit |= any(word in slow for word in (*words, *(one.host for one in named)))
        answer = f"{verdict.cause} on {verdict.host or 'no node'} rank {rank}: {verdict.headline}"
        before = [at for at in outcome.published if at <= first.at]
        verdict_s = first.at - max(before, default=first.at)
        is_early = len(before) < len(outcome.published)
    ranks = ",".join(map(str, sorted(truth.ranks))) or "any"
    return TrialResult(
        fault=job.fault,
        disturbance=job.disturbance,
        seed=seed,
        nodes=len(job.nodes),
        has_cause=has_cause,
        has_culprit=has_culprit,
        alerts=len({(one.step.attempt, one.step.number, one.by) for one in alerts}),
        additions=sum(one.step.number > 1 for one in alerts),
        verdict_s=verdict_s,
        is_early=is_early,
        cpu_s=cpu_s,
        renewals_per_minute=outcome.renewing.per_minute,
        waits=outcome.waiting.requests / max(1, outcome.waiting.nodes),
        owner_per_minute=outcome.owning.per_minute,
        digest_bytes=outcome.written_bytes / max(1, outcome.digests),
        answer=answer,
        truth=f"{'/'.join(sorted(truth.causes))} on {'/'.join(sorted(truth.culprits)) or 'no node'}"
        f" rank {ranks}",
    )


def _earliest(*times: float | None) -> float | None:
    return min((one for one in times if one is not None), default=None)
