"""Disturbances of the store, the clocks and the senders, each added to a fault of the job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpualert_common.jobs.digests.digest import ClockBasis, ClockOffset
from gpualert_common.structs import replace as replace_struct
from tests.simulation.composition import compose_ended, compose_running
from tests.simulation.faults import end_node
from tests.simulation.job import SimulatedJob, make_job, measured_clock

Disturbance = Callable[[SimulatedJob], None]


def none(_job: SimulatedJob) -> None:
    """Nothing."""


def store_slow(job: SimulatedJob) -> None:
    """Each request takes a second or so, and some take several."""
    latency_s = job.chance.uniform(0.3, 2.0)
    for node in job.nodes:
        node.store = replace(node.store, latency_s=latency_s)


def store_failing(job: SimulatedJob) -> None:
    """The store fails for some minutes at the end, for all nodes or for some."""
    chance = job.chance
    begin = job.fault_at + chance.uniform(-60.0, 60.0)
    outage = (begin, begin + chance.uniform(20.0, 180.0))
    part = chance.choice((1.0, 0.3, 0.05))
    error_s = chance.choice((0.1, 5.0))
    for node in job.nodes:
        if chance.random() < part:
            node.store = replace(node.store, outages=(outage,), error_s=error_s)


def clocks_off(job: SimulatedJob) -> None:
    """The clocks of some or all nodes are off by seconds to minutes.

    Where the store stamps files with the writer's clock, the peers bound the offsets less well.  A
    few nodes do not know their offset.
    """
    chance = job.chance
    part = chance.choice((1.0, 0.3, 0.05))
    size_s = chance.choice((3.0, 30.0, 300.0))
    by_peers = chance.random() < 0.4
    job.store_offset_s = None if by_peers else chance.uniform(-1.0, 1.0) * 60.0
    for node in job.nodes:
        if chance.random() < part:
            node.clock_offset_s = chance.uniform(-1.0, 1.0) * size_s
        to_store = node.clock_offset_s - (job.store_offset_s or 0.0)
        if by_peers:
            found = measured_clock(chance, to_store, chance.uniform(0.5, 10.0))
            node.clock = replace_struct(found, basis=ClockBasis.PEERS)
        elif chance.random() < 0.02:
            node.clock = ClockOffset()
        else:
            node.clock = measured_clock(chance, to_store, 2 * node.store.latency_s + 0.02)


def digests_late(job: SimulatedJob) -> None:
    """Some digests of nodes that live are visible late, and out of order."""
    chance = job.chance
    part, late_s = chance.choice((0.1, 0.5)), chance.choice((5.0, 30.0, 90.0))
    for node in job.nodes:
        if chance.random() < part and node.dead_at is None:
            node.store = replace(node.store, late_s=late_s)


def digests_doubled(job: SimulatedJob) -> None:
    """Some digests are written twice, and lie in copies, too."""
    for node in job.nodes:
        node.store = replace(node.store, doubled=0.5)


def digests_cut(job: SimulatedJob) -> None:
    """One in fifty digests is cut at a random byte."""
    for node in job.nodes:
        node.store = replace(node.store, cut=0.02)


def owner_killed(job: SimulatedJob) -> None:
    """The sender that owns the alert is killed at a random moment."""
    job.owner_killed_after_s = job.chance.choice((0.1, 3.0, 30.0)) * job.chance.random()


def senders_killed(job: SimulatedJob) -> None:
    """All senders but one are killed seconds after the ends of their runs."""
    survivor = job.chance.choice([node for node in job.nodes if node.dead_at is None])
    for node in job.others(survivor):
        if node.ended_at is not None:
            node.sender_dead_at = node.ended_at + node.verdict_s + job.chance.uniform(0.0, 10.0)


def _leave_behind(job: SimulatedJob, ending: str, is_numbered: bool) -> None:
    """Put the digests of an earlier attempt into the folder of the job."""
    chance = job.chance
    before = make_job("earlier", ending, chance.randrange(1 << 30), len(job.nodes), job.interval_s)
    before.key, before.step_s = job.key, job.step_s
    begun = min(node.started_at for node in job.nodes)
    if is_numbered:
        before.attempt, job.attempt = 0, 1
    for node, now in zip(before.nodes, job.nodes, strict=True):
        node.host, node.clock, node.clock_offset_s = now.host, now.clock, now.clock_offset_s
        node.started_at = begun - 7200.0
        end_node(before, node, ending, begun - chance.uniform(60.0, 90.0), 1.0)
        assert node.ended_at is not None
        at = node.ended_at + 1.0
        is_lost = chance.random() < 0.02
        compose = compose_running if is_lost else compose_ended
        job.earlier.append((compose(before, node, at, 9), at + (job.store_offset_s or 0.0)))


def earlier_attempt(job: SimulatedJob) -> None:
    """The folder has the digests of an earlier attempt that failed."""
    ending = job.chance.choice(("cuda_oom", "peer_closed", "gpu_lost"))
    _leave_behind(job, ending, is_numbered=job.chance.random() < 0.5)


def requeued(job: SimulatedJob) -> None:
    """The job was preempted before, and its scheduler started it again."""
    _leave_behind(job, "preempted", is_numbered=True)


DISTURBANCES: dict[str, Disturbance] = {
    one.__name__: one
    for one in (
        *(none, store_slow, store_failing, clocks_off, digests_late, digests_doubled),
        *(digests_cut, owner_killed, senders_killed, earlier_attempt, requeued),
    )
}
"""Disturbances by name."""
