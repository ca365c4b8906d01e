"""A simulated job: its nodes, the times of their ends, and the truth about its failure."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from gpualert_common.jobs.digests.digest import ClockBasis, ClockOffset, Digest
from tests.simulation.store import StoreConditions
from tests.simulation.virtual_time import EPOCH

RANKS_OF_NODE = 8
FAULT_AT = EPOCH + 3 * 3600.0
"""Time of the fault in a job that has trained for a while."""
TOTAL_STEPS = 100_000


@dataclass(frozen=True)
class Truth:
    """Correct verdicts.

    ``causes`` are those that are right.  ``culprits`` are the hosts of which one has to be named;
    with "" among them, no host is right, too.  ``ranks`` likewise, where the rank can be known;
    empty: any is right.
    """

    causes: frozenset[str]
    culprits: frozenset[str] = frozenset({""})
    ranks: frozenset[int] = frozenset()


@dataclass(eq=False)
class SimulatedNode:
    """One node: times are true ones; None never comes.

    ``ending`` is the name of its end: the failure shows at ``failed_at``, and the command ends at
    ``ended_at``.  The machine is dead from
    ``dead_at`` on, its sender from ``sender_dead_at`` on.  ``heard_from`` is the time of the first
    renewal that is simulated.  ``late_ranks`` have not entered the collective in which the others
    wait.  ``slow_ranks`` take longer for a step, by ``slow_sign``.
    """

    index: int
    host: str
    ranks: range
    run_id: str
    seed: int
    started_at: float = EPOCH
    heard_from: float = EPOCH
    ended_at: float | None = None
    ending: str = "completed"
    ending_rank: int = 0
    failed_at: float | None = None
    lost_host: str = "?"
    verdict_s: float = 0.5
    dead_at: float | None = None
    sender_dead_at: float | None = None
    clock_offset_s: float = 0.0
    clock: ClockOffset = field(default_factory=ClockOffset)
    store: StoreConditions = field(default_factory=StoreConditions)
    late_ranks: frozenset[int] = frozenset()
    slow_ranks: frozenset[int] = frozenset()
    slow_sign: str = ""


@dataclass(eq=False)
class SimulatedJob:
    """A job of some nodes; ``halted_at`` is the time of the last step of all ranks.

    With ``wants_good_ends``, people want an alert about a job that completes, too.  ``earlier`` are
    digests of earlier attempts in the same folder, with the times of their files.  The sender of
    the first claim is killed ``owner_killed_after_s`` after it made that.  ``store_offset_s`` is
    None where the writer's own clock stamps the files.
    """

    key: str
    fault: str
    disturbance: str
    chance: Random
    nodes: list[SimulatedNode]
    truth: Truth
    step_s: float
    interval_s: float
    fault_at: float = FAULT_AT
    halted_at: float | None = None
    slowed_at: float | None = None
    slowed_by: float = 1.0
    has_trained: bool = True
    wants_good_ends: bool = False
    attempt: int | None = None
    earlier: list[tuple[Digest, float]] = field(default_factory=list)
    owner_killed_after_s: float | None = None
    store_offset_s: float | None = 0.0

    @functools.cached_property
    def world_size(self) -> int:
        """Number of ranks."""
        return sum(len(node.ranks) for node in self.nodes)

    def position(self, at: float) -> int:
        """Return the last step that ended by that time: all ranks make it together."""
        begin = EPOCH + 60.0
        at = at if self.halted_at is None else min(at, self.halted_at)
        slowed_at = at if self.slowed_at is None else min(at, self.slowed_at)
        whole = (slowed_at - begin) / self.step_s
        whole += max(0.0, at - slowed_at) / (self.step_s * self.slowed_by)
        return max(0, int(whole))

    def others(self, *nodes: SimulatedNode) -> Iterator[SimulatedNode]:
        """Yield all other nodes."""
        return (node for node in self.nodes if node not in set(nodes))


def make_job(
    fault: str, disturbance: str, seed: int, nodes: int, interval_s: float
) -> SimulatedJob:
    """Return a job of that size without a fault: a training that goes on."""
    chance = Random(f"{fault}/{disturbance}/{seed}/{nodes}")
    prefix = chance.choice(("gpu", "node-", "dgx-a100-", "ip-10-0-"))
    job = SimulatedJob(
        key=f"slurm-{chance.randint(1000, 99999)}",
        fault=fault,
        disturbance=disturbance,
        chance=chance,
        nodes=[],
        truth=Truth(frozenset({"none"})),
        step_s=chance.choice((0.4, 1.5, 6.0, 20.0)) * chance.uniform(0.8, 1.2),
        interval_s=interval_s,
    )
    latency_s = chance.choice((0.002, 0.02, 0.08))
    for index in range(nodes):
        first = index * RANKS_OF_NODE
        offset_s = chance.gauss(0.0, 0.02)
        job.nodes.append(
            SimulatedNode(
                index=index,
                host=f"{prefix}{index + 1:04d}",
                ranks=range(first, first + RANKS_OF_NODE),
                run_id=f"{20270115_080000 + index}-{chance.randrange(16**6):06x}",
                seed=chance.randrange(1 << 40),
                started_at=EPOCH + chance.uniform(0.0, 20.0),
                heard_from=FAULT_AT - interval_s * chance.uniform(0.02, 1.02),
                verdict_s=chance.uniform(0.1, 1.5),
                clock_offset_s=offset_s,
                clock=measured_clock(chance, offset_s, latency_s),
                store=StoreConditions(latency_s=latency_s),
            )
        )
    return job


def measured_clock(chance: Random, offset_s: float, error_s: float) -> ClockOffset:
    """Return the offset of a clock as its node measures it, with an error within its bound."""
    found = offset_s + error_s * chance.uniform(-0.9, 0.9)
    return ClockOffset(offset_s=found, error_s=error_s, basis=ClockBasis.STORE)
