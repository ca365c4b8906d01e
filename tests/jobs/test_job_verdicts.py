"""The verdict of a job: its cause and its culprit, for faults and for what only looks like them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from gpualert_common.jobs.digests.digest import (
    ClockBasis,
    ClockOffset,
    Digest,
    DigestObservation,
    ProgressDigest,
    RankDigest,
    TelemetryDigest,
)
from gpualert_common.jobs.job_report import JobReport, JobState, NodePart
from gpualert_common.model import Disposition
from gpualert_common.processes.rank_names import format_numbers
from gpualert_common.structs import replace
from tests.jobs.composed_job import END, GPUS, compose, end, lose, merge, stall, stand

ALL = range(8)
LATER = END + 130.0
AT_LAST = END + 310.0
NANS = "The loss is NaN from step 400 on"


class Case(NamedTuple):
    """A job, and the verdict that it must get; a culprit of None is no node."""

    name: str
    make: Callable[[], Sequence[Digest]]
    cause: str
    culprit: str | None
    rank: int | None = None
    now: float = END + 40.0
    attribution: str | None = None
    least: float = 0.0
    most: float = 1.0
    is_settled: bool = True
    words: str = ""


def others(*but: int, at: float = END + 1.0, **named: int) -> list[Digest]:
    """Return the digests of the other nodes, which lost a peer."""
    return [lose(node, at + node / 10, **named) for node in ALL if node not in but]


def oom(node: int = 3, at: float = END, **named: Any) -> Digest:
    """Return the digest of a node whose GPU memory was exhausted."""
    digest = compose(node, **named)
    return end(digest, "cuda_oom", at, rank=node * GPUS + 5, headline="CUDA out of memory: 91 GiB")


def all_with(cause: str, *, step: float = 0.1, position: float = 500.0) -> list[Digest]:
    """Return digests that all have one cause."""
    return [end(compose(node, position=position), cause, END + node * step) for node in ALL]


def unknown_clock(digest: Digest) -> Digest:
    """Return the digest of a node that never compared its clock."""
    return replace(digest, clock=ClockOffset())


def report(node: int, *but: int) -> Digest:
    """Return the digest of a node of which all ranks but these timed out."""
    digest = compose(node)
    ranks = format_numbers(one.rank for one in digest.ranks if one.rank not in but)
    return end(digest, "collective", END + node / 10, reporting_ranks=ranks)


def with_one_rank(digest: Digest) -> Digest:
    """Return the digest of a node with a single rank, which has the number of the node."""
    rank = digest.node or 0
    verdict = digest.verdict
    if verdict is not None:
        verdict = replace(verdict, details={"reporting_ranks": str(rank)})
    return replace(digest, ranks=(RankDigest(rank),), world_size=8, verdict=verdict)


def kill(node: int, at: float = END) -> Digest:
    """Return the digest of a node of which a rank was killed."""
    return end(compose(node), "killed_unknown", at, rank=node * GPUS, failed_rank=node * GPUS)


def vanish(node: int, at: float = END) -> Digest:
    """Return the digest of a node whose end nobody saw, as its record was completed later."""
    digest = end(compose(node), "unknown", at, headline="The end of the run is not known")
    assert digest.verdict is not None
    return replace(digest, verdict=replace(digest.verdict, disposition=Disposition.UNKNOWN))


def fail_rank(digest: Digest, rank: int, code: int, at: float = END) -> Digest:
    """Return the digest of a node that runs on after one of its ranks has ended."""
    ranks = (
        replace(one, code=code, ended_at=at) if one.rank == rank else one for one in digest.ranks
    )
    return replace(digest, ranks=tuple(ranks))


ROOTS = [
    Case("out of memory first", lambda: [oom(), *others(3)], "cuda_oom", "gpu3", 29, least=0.9),
    Case(
        "no last digests of the others yet",
        lambda: [oom(), *(compose(node) for node in ALL if node != 3)],
        *("cuda_oom", "gpu3", 29),
        now=END + 20.0,
    ),
    Case("the only node", lambda: [oom(0)], "cuda_oom", "gpu0", 5, now=END + 9.0),
    Case(
        "after a lost peer was reported",
        lambda: [oom(at=END + 9), *others(3)],
        *("cuda_oom", "gpu3"),
        words="7 other nodes failed before",
    ),
    Case(
        "two of eight: the first",
        lambda: [oom(3), oom(5, END + 2), *others(3, 5)],
        *("cuda_oom", "gpu3", 29),
        words="1 more node with the same cause",
    ),
    Case(
        "clock of the second ten minutes behind, as it knows",
        lambda: [oom(3), end(compose(5, offset_s=-600.0), "assertion", END - 597.0), *others(3, 5)],
        *("cuda_oom", "gpu3", 29),
        least=0.9,
    ),
    Case(
        "clocks never compared: the better known reason, and no certainty",
        lambda: [
            oom(3),
            unknown_clock(end(compose(5), "killed_unknown", END - 1.0)),
            *others(3, 5),
        ],
        *("cuda_oom", "gpu3"),
        most=0.8,
    ),
    Case(
        "two reasons at one time",
        lambda: [
            end(compose(3, error_s=2.0), "cuda_oom", END),
            end(compose(5, error_s=2.0), "disk_full", END + 1.0),
            *others(3, 5),
        ],
        *("cuda_oom", "gpu3"),
        most=0.6,
    ),
    Case(
        "two reasons, and the clocks order them",
        lambda: [oom(5, END + 2.0), end(compose(3), "disk_full", END), *others(3, 5)],
        *("disk_full", "gpu3"),
        least=0.9,
    ),
    Case("kill before the losses", lambda: [kill(2), *others(2)], "killed_unknown", "gpu2", 16),
    Case(
        "kills after the losses, by srun",
        lambda: [*others(2, 3), kill(2, END + 30), kill(3, END + 30)],
        *("collective", None),
    ),
    Case(
        "stops after the root, by the launcher",
        lambda: [oom(), *(end(compose(node), "cancelled", END + 2) for node in ALL if node != 3)],
        *("cuda_oom", "gpu3", 29),
        least=0.9,
    ),
    Case(
        "a program that reports the lost peer in words of its own",
        lambda: [
            oom(),
            *others(3, 4),
            end(compose(4), "runtime_error", END + 1.5, headline="RuntimeError: trainer lost rank"),
        ],
        *("cuda_oom", "gpu3", 29),
    ),
    Case(
        "one rank of the node left first",
        lambda: [lose(3, END, lost_rank=24), *others(3)],
        *("collective", None),
        most=0.7,
    ),
    Case(
        "the node knows that its own rank failed first",
        lambda: [
            end(compose(3), "collective", END, failed_rank=25, rank_end="failed"),
            *others(3),
        ],
        *("collective", "gpu3", 25),
    ),
    Case(
        "segfault",
        lambda: [end(compose(6), "segfault", END, rank=50), *others(6)],
        *("segfault", "gpu6", 50),
    ),
    Case(
        "a rank that ended badly, and no verdict yet",
        lambda: [
            replace(compose(3), ranks=(RankDigest(24), RankDigest(25, code=-9, ended_at=END))),
            *others(3),
        ],
        *("killed_unknown", "gpu3", 25),
        most=0.7,
    ),
    Case(
        "GPU lost, in the kernel log before the exception",
        lambda: [
            replace(
                end(compose(1), "gpu_hardware", END, text="Xid 79: GPU has fallen off the bus"),
                observations=(
                    DigestObservation("gpu_hardware", "CUDA error", END + 9.0),
                    DigestObservation("gpu_hardware", "Xid 79", END - 4.0, source="kernel_log"),
                ),
            ),
            *others(1),
        ],
        *("gpu_hardware", "gpu1"),
        attribution="infrastructure",
        least=0.9,
    ),
]

SHARED = [
    Case(
        "wrong option on all",
        lambda: all_with("config", position=0.0),
        *("config", None),
        attribution="job",
        least=0.9,
        words="on all 8 nodes",
    ),
    Case("missing module on all", lambda: all_with("missing_module"), "missing_module", None),
    Case("out of memory on all", lambda: all_with("cuda_oom"), "cuda_oom", None, attribution="job"),
    Case(
        "one node is late with it",
        lambda: [*all_with("config")[:7], end(compose(7), "config", END + 200)],
        *("config", None),
    ),
    Case(
        "most of them",
        lambda: [*all_with("config")[:6], *others(*range(6))],
        *("config", None),
        words="on 6 of 8 nodes",
    ),
    Case(
        "half of them",
        lambda: [*all_with("config")[:4], *others(*range(4))],
        *("config", None),
        words="on 4 of 8 nodes",
    ),
    Case(
        "all that have a verdict; the ranks of the others ended, too",
        lambda: [
            *all_with("config")[:3],
            *(replace(compose(node), ranks=(RankDigest(node * GPUS, 1),)) for node in range(3, 8)),
        ],
        *("config", None),
        now=END + 20.0,
    ),
    Case(
        "some were stopped; one that reports nothing may know the reason",
        lambda: [*all_with("cancelled")[:7], compose(7, at=END - 4)],
        *("cancelled", None),
        now=LATER,
        is_settled=False,
    ),
    Case(
        "the same type of exception with other texts is a consequence",
        lambda: [
            end(compose(3), "runtime_error", END, message="shape [4, 2] is invalid"),
            *(
                end(compose(node), "runtime_error", END + 3, message="NCCL communicator aborted")
                for node in ALL
                if node != 3
            ),
        ],
        *("runtime_error", "gpu3"),
    ),
    Case(
        "the same exception with the same text",
        lambda: [
            end(compose(node), "runtime_error", END, message=f"bad batch on rank {node}")
            for node in ALL
        ],
        *("runtime_error", None),
    ),
    Case("preempted", lambda: all_with("preempted"), "preempted", None),
    Case("cancelled", lambda: all_with("cancelled"), "cancelled", None),
    Case("time limit", lambda: all_with("time_limit"), "time_limit", None),
    Case(
        "preempted with a long grace: the first node ends before Slurm has the reason",
        lambda: [
            end(compose(2), "preempted", END, confidence=0.6),
            *(
                end(compose(node), "preempted", END + 120 + node, job="17")
                for node in ALL
                if node != 2
            ),
        ],
        *("preempted", None),
        now=END + 140.0,
        least=0.9,
        words="on all 8 nodes",
    ),
    Case(
        "preempted with a long grace: most nodes lost the first one",
        lambda: [
            end(compose(2), "cancelled", END, confidence=0.6),
            end(compose(5), "preempted", END + 120, job="17"),
            *others(2, 5),
        ],
        *("preempted", None),
        now=END + 140.0,
        least=0.9,
    ),
    Case(
        "stopped on one node, long before the time limit of the job",
        lambda: [
            end(compose(2), "cancelled", END, confidence=0.6),
            end(compose(5), "time_limit", END + 3600, job="17"),
            *others(2, 5),
        ],
        *("cancelled", "gpu2"),
        now=END + 3700.0,
        most=0.6,
    ),
    Case(
        "stopped on one node, and the reason may still come",
        lambda: [
            end(compose(2), "preempted", END, confidence=0.6),
            *(compose(node, at=END + 95) for node in ALL if node != 2),
        ],
        *("preempted", "gpu2"),
        now=END + 100.0,
        is_settled=False,
    ),
    Case(
        "one pod was evicted, and the others lost it",
        lambda: [end(compose(4), "preempted", END - 3), *others(4)],
        *("preempted", "gpu4"),
    ),
    Case(
        "NaN: rank 0 prints the losses",
        lambda: [end(compose(node), "nan_loss", END + (8 - node), headline=NANS) for node in ALL],
        *("nan_loss", None),
    ),
    Case(
        "NaN on another node than that of rank 0",
        lambda: [
            end(compose(0), "none"),
            *(end(compose(node), "none") for node in range(1, 7)),
            end(compose(7), "not_learning"),
        ],
        *("none", None),
    ),
    Case(
        "NaN where only the last rank prints losses",
        lambda: [
            *(end(compose(node, progress=None), "none") for node in range(7)),
            end(compose(7), "nan_loss", headline=NANS),
        ],
        *("nan_loss", "gpu7"),
    ),
]

NODE_FAULTS = [
    Case(
        "missing module on one node, the others waited",
        lambda: [end(compose(3, position=0), "missing_module"), *others(3)],
        *("missing_module", "gpu3"),
        attribution="infrastructure",
        most=0.9,
    ),
    Case(
        "missing module on one node, the others were stopped before",
        lambda: [
            end(compose(3, position=0), "missing_module"),
            *(end(compose(node, position=0), "cancelled", END + 1) for node in ALL if node != 3),
        ],
        *("missing_module", "gpu3"),
        attribution="job",
    ),
    Case(
        "file not found on one node",
        lambda: [end(compose(3), "file_not_found"), *others(3)],
        *("file_not_found", "gpu3"),
        attribution="unknown",
        most=0.7,
    ),
    Case(
        "out of memory on one node stays the job's",
        lambda: [oom(), *others(3)],
        *("cuda_oom", "gpu3"),
        attribution="job",
    ),
    Case(
        "missing module on two nodes is not one node's",
        lambda: [
            end(compose(3, position=0), "missing_module"),
            end(compose(4, position=0), "missing_module", END + 0.2),
            *others(3, 4),
        ],
        *("missing_module", "gpu3"),
        attribution="job",
    ),
    Case(
        "a job of one node",
        lambda: [end(compose(0, 1, position=0), "missing_module")],
        *("missing_module", "gpu0"),
        attribution="job",
    ),
]

LOSSES = [
    Case(
        "the only node keeps its own verdict",
        lambda: [lose(0, nodes=1)],
        *("collective", "gpu0"),
        least=0.9,
        words="Connection closed by peer",
    ),
    Case(
        "a node whose end nobody saw, before the others lost it",
        lambda: [vanish(3), *others(3, at=END + 3.0)],
        *("unknown", "gpu3"),
        most=0.5,
        words="7 other nodes failed after it",
    ),
    Case(
        "a node whose end nobody saw, after a loss",
        lambda: [vanish(3, END + 9.0), *others(3)],
        *("collective", None),
    ),
    Case(
        "a rank ended, and no verdict says why",
        lambda: [fail_rank(compose(0), 3, 1), *(compose(node) for node in ALL if node)],
        *("unknown", "gpu0", 3),
        now=END + 20.0,
        most=0.5,
        is_settled=False,
        words="Rank 3 ended with exit status 1 on gpu0",
    ),
    Case(
        "an exit status without a reason, after a loss",
        lambda: [replace(end(compose(3), "runtime_error", END + 9.0), observations=()), *others(3)],
        *("collective", None),
    ),
    Case(
        "two ends that nothing explains, and a node that goes on",
        lambda: [vanish(0), vanish(1, END + 0.1), compose(2, nodes=3)],
        *("unknown", None),
        now=END + 20.0,
        is_settled=False,
    ),
    Case(
        "a node completed before the others lost a peer",
        lambda: [end(compose(0), "none", END - 9.0), *others(0)],
        *("collective", "gpu0"),
        attribution="unknown",
        words="gpu0 completed; 7 nodes lost it as a peer",
    ),
    Case(
        "a node is silent since one of its ranks failed: it is not the node that was lost",
        lambda: [fail_rank(compose(3, at=END + 0.5), 29, 1), *others(3)],
        *("unknown", "gpu3", 29),
        now=LATER,
        words="Rank 29 ended with exit status 1 on gpu3",
    ),
    Case(
        "a node is silent since before",
        lambda: [compose(3, at=END - 4), *others(3)],
        *("node_failure", "gpu3"),
        now=LATER,
        attribution="infrastructure",
        least=0.8,
    ),
    Case(
        "a node is silent, and others name its rank",
        lambda: [compose(3, at=END - 4), *others(3, lost_rank=26)],
        *("node_failure", "gpu3"),
        now=LATER,
        least=0.9,
    ),
    Case(
        "two nodes are silent",
        lambda: [compose(3, at=END - 4), compose(4, at=END - 6), *others(3, 4)],
        *("node_failure", None),
        now=AT_LAST,
        most=0.6,
    ),
    Case(
        "two nodes are silent, and may only not reach the job directory",
        lambda: [compose(3, at=END - 4), compose(4, at=END - 6), *others(3, 4)],
        *("node_failure", None),
        now=LATER,
        is_settled=False,
    ),
    Case(
        "more nodes are silent than fail at once",
        lambda: [
            *(compose(node, at=END - 4) for node in range(1, 6)),
            *(lose(node, END + 1.5) for node in (0, 6, 7)),
        ],
        *("collective", None),
        now=AT_LAST,
        most=0.5,
        words="3 nodes lost a peer, and nothing was heard of 5 nodes: gpu[1-5]",
    ),
    Case(
        "two nodes are silent, and others name a rank of one",
        lambda: [compose(3, at=END - 4), compose(4, at=END - 6), *others(3, 4, lost_rank=26)],
        *("node_failure", "gpu3"),
        now=AT_LAST,
        most=0.75,
    ),
    Case(
        "silence that began long after the losses",
        lambda: [compose(3, at=END + 300), *others(3)],
        *("collective", "gpu3"),
        now=END + 420,
        most=0.6,
    ),
    Case(
        "a node is not yet overdue",
        lambda: [compose(3, at=END - 4), *others(3)],
        *("collective", "gpu3"),
        now=END + 4,
        is_settled=False,
    ),
    Case(
        "a node still renews its digest",
        lambda: [compose(3, at=END + 55), *others(3)],
        *("collective", "gpu3"),
        now=END + 60,
        is_settled=False,
        most=0.6,
    ),
    Case("nobody knows", others, "collective", None, most=0.6),
    Case(
        "all ranks but one time out",
        lambda: [report(node, *([29] if node == 3 else [])) for node in ALL],
        *("collective", "gpu3", 29),
        attribution="unknown",
        least=0.7,
        most=0.8,
        words="Rank 29 on gpu3 is the only one of 64 ranks",
    ),
    Case(
        "all ranks but one time out, and its node is stopped later",
        lambda: [
            end(with_one_rank(compose(3)), "cancelled", END + 9),
            *(with_one_rank(report(node)) for node in ALL if node != 3),
        ],
        *("collective", "gpu3", 3),
    ),
    Case(
        "two ranks of two nodes report nothing",
        lambda: [report(node, 29, 40) for node in ALL],
        *("collective", None),
        most=0.6,
    ),
    Case(
        "a node does not say which ranks reported",
        lambda: [lose(2), *(report(node, 29) for node in ALL if node != 2)],
        *("collective", None),
        most=0.6,
    ),
    Case(
        "all name a rank of one node",
        lambda: [lose(3), *others(3, lost_rank=26)],
        *("collective", "gpu3", 26),
    ),
    Case(
        "two parts name each other",
        lambda: (
            [lose(node, END, lost_rank=60 if node < 4 else 3) for node in (0, 7)]
            + [lose(node, END, lost_rank=60 if node < 4 else 3) for node in (1, 2, 3, 4, 5, 6)]
        ),
        *("collective", None),
        words="lost each other",
        attribution="infrastructure",
    ),
    Case(
        "a node never started",
        lambda: [end(compose(node, position=0), "rendezvous", END) for node in ALL if node != 6],
        *("rendezvous", None),
        now=LATER,
        words="node 6 never reported",
    ),
    Case(
        "a node without a digest, after training",
        lambda: others(6),
        *("collective", None),
        now=LATER,
        most=0.5,
    ),
    Case(
        "a rank did not enter the collective",
        lambda: [stall(lose(node), 40, behind=(13,)) for node in ALL],
        *("collective", "gpu1", 13),
        least=0.8,
        words="rank 13 never entered",
    ),
    Case(
        "all ranks entered it",
        lambda: [stall(lose(node), 40) for node in ALL],
        *("collective", None),
        words="all 64 known ranks have entered",
    ),
    Case(
        "a rank called another collective",
        lambda: [
            stall(lose(0), 40),
            *(
                replace(
                    stalled := stall(lose(node), 40),
                    ranks=(replace(stalled.ranks[0], pending="broadcast"), *stalled.ranks[1:]),
                )
                if node == 2
                else stall(lose(node), 40)
                for node in range(1, 8)
            ),
        ],
        *("collective", "gpu2", 16),
        words="called broadcast",
    ),
    Case(
        "hung until the time limit: one rank stands in its data loader",
        lambda: [
            stand(
                end(compose(node), "time_limit", END),
                (tuple(range(node * 8 + (node == 5), node * 8 + 8)), "collective", "train.py:9"),
                *([((40,), "data", "loader.py:7")] if node == 5 else []),
            )
            for node in ALL
        ],
        *("idle_hang", "gpu5", 40),
        words="loader.py:7",
    ),
    Case(
        "time limit: half of the ranks stand elsewhere",
        lambda: [
            stand(
                end(compose(node), "time_limit", END),
                (tuple(range(node * 8, node * 8 + 3)), "collective", "train.py:9"),
                (tuple(range(node * 8 + 3, node * 8 + 8)), "none", "train.py:4"),
            )
            for node in ALL
        ],
        *("time_limit", None),
    ),
    Case(
        "one node hangs, and the others time out",
        lambda: [end(compose(2), "idle_hang", END + 600, headline="Hung: a lock"), *others(2)],
        *("idle_hang", "gpu2"),
    ),
]


def slow(node: int, step_s: float = 1.0, clock_ratio: float | None = None) -> Digest:
    """Return the digest of a node that completed, with the time of a step."""
    digest = end(compose(node), "none")
    progress = ProgressDigest(position=1000.0, pace_s=step_s)
    telemetry = TelemetryDigest(gpus=GPUS, clock_ratio=clock_ratio)
    return replace(digest, progress=progress, telemetry=telemetry)


ENDS = [
    Case("all completed", lambda: all_with("none"), "none", None, least=0.9),
    Case(
        "one node never ended",
        lambda: [*all_with("none")[:7], compose(7, at=END - 9)],
        *("unknown", "gpu7"),
        now=AT_LAST,
    ),
    Case("slow node", lambda: [*map(slow, range(7)), slow(7, 2.0)], "straggler", "gpu7"),
    Case("a little slower", lambda: [*map(slow, range(7)), slow(7, 1.25)], "none", None),
    Case(
        "two nodes: which one?",
        lambda: [replace(slow(node, 1.0 + node), nodes=2) for node in (0, 1)],
        *("none", None),
    ),
    Case(
        "slow clock",
        lambda: [*(slow(node, clock_ratio=0.98) for node in range(7)), slow(7, clock_ratio=0.4)],
        *("straggler", "gpu7"),
        attribution="infrastructure",
    ),
    Case(
        "all clocks slow",
        lambda: [slow(node, clock_ratio=0.4) for node in ALL],
        *("none", None),
    ),
    Case(
        "a short test of minutes' start",
        lambda: [
            replace(one, started_at=END - 60.0) for one in (*map(slow, range(7)), slow(7, 2.0))
        ],
        *("none", None),
    ),
    Case(
        "half of the nodes slow",
        lambda: [slow(node, 1.0 + node % 2) for node in ALL],
        *("none", None),
    ),
    Case(
        "slow steps on one node of a job that failed for another reason",
        lambda: [oom(), *(replace(one, progress=ProgressDigest(pace_s=9.0)) for one in others(3))],
        *("cuda_oom", "gpu3"),
    ),
]


def find_culprits(report: JobReport) -> list[str]:
    """Return the hosts of the nodes at fault."""
    return [one.host for one in report.nodes if one.part is NodePart.CULPRIT]


@pytest.mark.parametrize(
    "case", [*ROOTS, *SHARED, *NODE_FAULTS, *LOSSES, *ENDS], ids=lambda case: case.name
)
def test_verdicts(case: Case) -> None:
    """The job has the cause and the culprit of the case, and no more certainty than it allows."""
    report = merge(*case.make(), now=case.now)
    verdict = report.verdict
    assert (verdict.cause, verdict.host) == (case.cause, case.culprit), verdict
    assert verdict.details["rank"] == case.rank or case.rank is None
    assert case.least <= verdict.confidence <= case.most
    assert case.attribution in (None, verdict.attribution)
    assert report.is_settled is case.is_settled, report.due_at - END
    assert case.words in verdict.headline
    if case.culprit is not None:
        assert find_culprits(report) == [case.culprit] == [report.nodes[0].host]


def test_network_split() -> None:
    """The two parts of a split are named, and no node is the culprit."""
    digests = [lose(node, END, lost_rank=60 if node < 4 else 3) for node in ALL]
    report = merge(*digests)
    assert "gpu7" in report.verdict.headline
    assert not find_culprits(report)
    assert {one.part for one in report.nodes} == {NodePart.UNKNOWN}


def test_running_job() -> None:
    """A job without a failure runs, names a silent node in a warning, and is not settled."""
    report = merge(*(compose(node) for node in range(7)), compose(7, at=END - 300))
    assert (report.state, report.verdict.disposition) == (JobState.RUNNING, "running")
    assert [one.kind for one in report.verdict.warnings] == ["silent_nodes"]
    assert not report.is_settled


def test_hang_of_a_running_job() -> None:
    """The ranks that the others wait for are named in a warning while the job runs."""
    digests = [stall(compose(node, warnings=("hung",)), 40, behind=(13,)) for node in ALL]
    first, second = merge(*digests, now=END + 9).verdict.warnings
    assert "rank 13 never entered" in first.text
    assert second.text == "the warning hung is raised on gpu[0-7]"
    calm = [replace(one, warnings=()) for one in digests]
    assert merge(*calm, now=END + 9).verdict.warnings == ()


def test_unknown_end() -> None:
    """A run whose end nobody saw is no failure with a cause."""
    report = merge(*all_with("none")[:7], vanish(7))
    assert (report.verdict.cause, report.verdict.disposition) == ("unknown", "unknown")
    assert report.verdict.headline == "The end of the run is not known on gpu7"
    assert find_culprits(report) == ["gpu7"]


def test_end_without_a_verdict() -> None:
    """A job of which a node has ended without a verdict did not complete on all nodes."""
    ended = replace(end(compose(7), "none"), verdict=None)
    report = merge(*all_with("none")[:7], ended)
    assert (report.verdict.cause, report.verdict.disposition) == ("unknown", "unknown")
    assert "7 of 8 nodes completed" in report.verdict.headline
    assert report.nodes[0].host == "gpu7"


def test_same_index_on_two_hosts() -> None:
    """Nodes of separate allocations, each with index 0, are two nodes."""
    digests = [
        replace(digest, node=0, nodes=1)
        for digest in (lose(0, END + 1), end(compose(1), "cuda_oom", END, rank=9))
    ]
    report = merge(*digests)
    assert [one.host for one in report.nodes] == ["gpu1", "gpu0"]
    assert report.verdict.host == "gpu1"


def test_ranks_by_task() -> None:
    """Runs of the tasks of one node are one row, and the rank that failed first is named."""
    digests = [
        replace(
            lose(rank // 2, END + 1, nodes=2),
            run_id=f"task-{rank}",
            ranks=(RankDigest(rank),),
        )
        for rank in (0, 1, 3)
    ]
    failed = replace(compose(1, 2), run_id="task-2", ranks=(RankDigest(2),))
    report = merge(*digests, end(failed, "cuda_oom", END, rank=2))
    assert (report.verdict.host, report.verdict.details["rank"]) == ("gpu1", 2)
    assert [(one.host, one.ranks) for one in report.nodes] == [("gpu1", "2-3"), ("gpu0", "0-1")]


def test_settled_times() -> None:
    """A known root is final after seconds, lost peers only when all nodes ended or are silent."""
    running = [compose(node, at=END + 35) for node in range(4)]
    root = merge(oom(5), *running, now=END + 3)
    assert not root.is_settled
    assert root.due_at == pytest.approx(END + 6.1)
    losses = merge(lose(5), lose(6), *running, now=END + 40)
    assert not losses.is_settled
    assert losses.due_at == pytest.approx(END + 303.1)
    complete = merge(*others(), now=END + 4)
    assert complete.is_settled


@pytest.mark.parametrize("basis", list(ClockBasis))
def test_errors_of_clocks(basis: ClockBasis) -> None:
    """A time within the error of a clock makes no certain verdict wrong."""
    most_s = 2.0 if basis is ClockBasis.NONE else 6.0
    for part in (-0.9, -0.1, 0.1, 0.9):
        clock = ClockOffset(0.0, most_s, basis)
        wrong = replace(end(compose(5), "assertion", END + 1.0 + part * most_s), clock=clock)
        verdict = merge(oom(3), wrong, *others(3, 5)).verdict
        assert verdict.host == "gpu3" or verdict.confidence <= 0.75
