"""Faults of a job: each changes the ends of its nodes, and sets the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from tests.simulation.job import SimulatedJob, SimulatedNode, Truth

Fault = Callable[[SimulatedJob], None]

_MODES = ("closed", "watchdog", "srun", "agents")
"""Ways in which the loss of a rank reaches the other nodes."""
_TIMEOUTS_S = (180.0, 180.0, 180.0, 600.0)
"""Time-outs of NCCL; ten minutes is the usual one, and takes the longest to simulate."""


def end_node(
    job: SimulatedJob, node: SimulatedNode, ending: str, failed_at: float, more_s: float
) -> None:
    """End the command of a node ``more_s`` after it fails; its supervisor reads that a bit late."""
    node.ending = ending
    node.failed_at = failed_at + job.chance.uniform(0.0, 0.3)
    node.ended_at = node.failed_at + more_s
    node.ending_rank = job.chance.choice(node.ranks)


def cascade(
    job: SimulatedJob,
    culprits: Iterable[SimulatedNode],
    at: float,
    culprit_ended_at: float,
    modes: Iterable[str] = _MODES,
) -> None:
    """End all other nodes, each as one that lost a peer."""
    chance, lost = job.chance, list(culprits)
    job.halted_at = at
    main = chance.choice(list(modes))
    purity = chance.choice((1.0, 0.95, 0.8))
    timeout_s = chance.choice(_TIMEOUTS_S)
    for node in job.others(*lost):
        mode = main if chance.random() < purity else chance.choice(list(modes))
        node.lost_host = chance.choice(lost if chance.random() < 0.3 else job.nodes).host
        match mode:
            case "closed":
                ending, failed_at = "peer_closed", at + chance.uniform(0.05, 3.0)
            case "watchdog":
                ending, failed_at = "watchdog", at + timeout_s + chance.uniform(0.0, 15.0)
            case "srun":
                ending = chance.choice(("terminated_by_srun",) * 4 + ("killed_by_srun",))
                failed_at = culprit_ended_at + chance.uniform(0.2, 5.0)
            case _:
                ending = chance.choice(("terminated", "rendezvous_lost"))
                failed_at = culprit_ended_at + chance.uniform(0.2, 20.0)
        end_node(job, node, ending, failed_at, chance.uniform(0.3, 10.0))


def _fail_on_one(job: SimulatedJob, endings: dict[str, str]) -> None:
    """End one rank by one of these endings, each with its cause, and then all others."""
    culprit = job.chance.choice(job.nodes)
    ending = job.chance.choice(list(endings))
    end_node(job, culprit, ending, job.fault_at, job.chance.choice((1.0, 5.0, 30.0)))
    assert culprit.ended_at is not None
    rank = culprit.ending_rank
    job.truth = Truth(frozenset({endings[ending]}), frozenset({culprit.host}), frozenset({rank}))
    cascade(job, [culprit], job.fault_at, culprit.ended_at)


def node_dead(job: SimulatedJob) -> None:
    """A machine loses its power: it writes nothing any more."""
    culprit = job.chance.choice(job.nodes)
    culprit.dead_at = job.fault_at
    job.truth = Truth(frozenset({"node_failure"}), frozenset({culprit.host}))
    cascade(job, [culprit], job.fault_at, job.fault_at + 1.0, ("closed", "watchdog"))


def hang(job: SimulatedJob) -> None:
    """One rank does not come to a collective, until a watchdog or the time limit ends all."""
    chance = job.chance
    culprit = chance.choice(job.nodes)
    late = chance.choice(culprit.ranks)
    culprit.late_ranks = frozenset({late})
    job.halted_at = job.fault_at
    causes = frozenset({"collective", "idle_hang"})
    job.truth = Truth(causes, frozenset({culprit.host}), frozenset({late}))
    ending = chance.choice(("watchdog", "watchdog", "time_limit"))
    timeout_s = chance.choice(_TIMEOUTS_S) if ending == "watchdog" else 420.0
    for node in job.nodes:
        failed_at = job.fault_at + timeout_s + chance.uniform(0.0, 15.0)
        end_node(job, node, ending, failed_at, chance.uniform(0.3, 10.0))
        if node is culprit:
            node.ending_rank = chance.choice([one for one in node.ranks if one != late])


def network_split(job: SimulatedJob) -> None:
    """A switch fails: one part of the nodes loses the other, and both reach the store."""
    chance = job.chance
    size = chance.randint(1, max(1, len(job.nodes) // 2))
    first = chance.randrange(len(job.nodes) - size + 1)
    part = job.nodes[first : first + size]
    rest = job.nodes[:first] + job.nodes[first + size :]
    hosts = {part[0].host, ""} if size == 1 else {""}
    hosts |= {rest[0].host} if len(rest) == 1 else set()
    job.truth = Truth(frozenset({"collective", "network"}), frozenset(hosts))
    job.halted_at = job.fault_at
    timeout_s = chance.choice((0.0, 0.0, *_TIMEOUTS_S))
    for own, others in ((part, rest), (rest, part)):
        for node in own:
            node.lost_host = chance.choice(others).host
            failed_at = job.fault_at + timeout_s + chance.uniform(0.05, 10.0)
            ending = "watchdog" if timeout_s else "peer_closed"
            end_node(job, node, ending, failed_at, chance.uniform(0.3, 10.0))


def straggler(job: SimulatedJob) -> None:
    """One rank slows the whole job, which ends well or at its time limit."""
    chance = job.chance
    culprit = chance.choice(job.nodes)
    count = chance.choice((1, 1, len(culprit.ranks)))
    culprit.slow_ranks = frozenset(chance.sample(culprit.ranks, count))
    sign = chance.choice(("clock", "waits", "loader"))
    for node in job.nodes:
        node.slow_sign = sign
    job.slowed_at = job.fault_at - chance.uniform(0.5, 0.9) * 3 * 3600.0
    job.slowed_by = chance.uniform(1.5, 3.5)
    # The clock in a digest is the lowest one of the node.
    ranks = culprit.slow_ranks if count == 1 and sign != "clock" else frozenset()
    job.truth = Truth(frozenset({"straggler"}), frozenset({culprit.host}), ranks)
    ending = chance.choice(("completed", "time_limit"))
    job.wants_good_ends = True
    for node in job.nodes:
        failed_at = job.fault_at + chance.uniform(0.0, 2.0)
        end_node(job, node, ending, failed_at, chance.uniform(0.1, 6.0))
    if ending == "time_limit":
        job.truth = Truth(
            frozenset({"straggler", "time_limit"}), job.truth.culprits, job.truth.ranks
        )


def wrong_config(job: SimulatedJob) -> None:
    """The same mistake ends all nodes at their start."""
    chance = job.chance
    job.has_trained = False
    ending = chance.choice(("config", "missing_module", "file_not_found"))
    job.truth = Truth(frozenset({ending}))
    purity = chance.choice((1.0, 0.9))
    for node in job.nodes:
        node.started_at = job.fault_at - chance.uniform(10.0, 40.0)
        node.heard_from = node.started_at + chance.uniform(2.0, 8.0)
        own = ending if chance.random() < purity else "rendezvous_lost"
        late_s = chance.uniform(0.0, 10.0) if own == ending else chance.uniform(5.0, 40.0)
        end_node(job, node, own, job.fault_at + late_s, chance.uniform(0.1, 3.0))


def wrong_node(job: SimulatedJob) -> None:
    """One node lacks a module or a file that all others have."""
    chance = job.chance
    job.has_trained = False
    culprit = chance.choice(job.nodes)
    ending = chance.choice(("missing_module", "file_not_found"))
    for node in job.nodes:
        node.started_at = job.fault_at - chance.uniform(10.0, 40.0)
        node.heard_from = node.started_at + chance.uniform(2.0, 8.0)
    end_node(job, culprit, ending, job.fault_at, chance.uniform(0.5, 5.0))
    assert culprit.ended_at is not None
    job.truth = Truth(frozenset({ending}), frozenset({culprit.host}))
    cascade(job, [culprit], job.fault_at, culprit.ended_at)


def nan_loss(job: SimulatedJob) -> None:
    """The loss becomes NaN, which all ranks see, or which only rank 0 checks."""
    chance = job.chance
    first = job.nodes[0]
    job.truth = Truth(frozenset({"nan_loss"}), frozenset({"", first.host}))
    way = chance.choice(("all", "first", "completed"))
    if way == "first":
        end_node(job, first, "nan_loss", job.fault_at, chance.choice((1.0, 5.0, 30.0)))
        first.ending_rank = 0
        cascade(job, [first], job.fault_at, first.ended_at or job.fault_at)
        return
    ending = "nan_loss" if way == "all" else "nan_completed"
    job.wants_good_ends = way == "completed"
    for node in job.nodes:
        end_node(
            job, node, ending, job.fault_at + chance.uniform(0.0, 3.0), chance.uniform(0.5, 9.0)
        )


def _end_all(job: SimulatedJob, causes: tuple[str, ...], endings: tuple[str, ...]) -> None:
    """End all nodes at once, each by one of these endings, most of them by the first.

    What does not end by SIGTERM is killed half a minute later.
    """
    chance = job.chance
    job.truth = Truth(frozenset(causes))
    job.halted_at = job.fault_at
    purity = chance.choice((1.0, 0.9))
    for node in job.nodes:
        ending = endings[0] if chance.random() < purity else chance.choice(endings)
        late_s = 30.0 if ending == "killed_by_srun" else 0.0
        failed_at = job.fault_at + late_s + chance.uniform(0.0, 5.0)
        end_node(job, node, ending, failed_at, chance.uniform(0.1, 20.0))


FAULTS: dict[str, Fault] = {
    "node_dead": node_dead,
    "rank_killed": partial(_fail_on_one, endings={"oom_killer": "oom_killer"}),
    "gpu_lost": partial(
        _fail_on_one, endings={"gpu_lost": "gpu_hardware", "gpu_memory": "gpu_hardware"}
    ),
    "exception": partial(
        _fail_on_one,
        endings={name: name for name in ("cuda_oom", "assertion", "data", "segfault")},
    ),
    "hang": hang,
    "network_split": network_split,
    "straggler": straggler,
    "wrong_config": wrong_config,
    "wrong_node": wrong_node,
    "nan_loss": nan_loss,
    "time_limit": partial(
        _end_all, causes=("time_limit",), endings=("time_limit", "killed_by_srun")
    ),
    "preempted": partial(_end_all, causes=("preempted",), endings=("preempted", "terminated")),
    "cancelled": partial(
        _end_all, causes=("cancelled",), endings=("cancelled", "terminated", "killed_by_srun")
    ),
}
"""Faults by name."""

OF_MANY_NODES = frozenset({"node_dead", "network_split", "straggler", "wrong_node"})
"""Faults that a job of one node cannot have."""
