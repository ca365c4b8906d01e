"""Reports of jobs of many kinds, as the merging of digests makes them, and runs of a job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from gpualert_common.job_store.opening import open_store
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.jobs.job_report import (
    JobReport,
    JobState,
    NodePart,
    NodeState,
    NodeSummary,
)
from gpualert_common.model import Attribution, Claim, Disposition, Retry, Verdict, VerdictWarning
from gpualert_common.record import SPEC, Record
from gpualert_common.structs import replace
from tests.jobs.composed_job import KEY, compose, end, lose
from tests.scenarios.scene import Scene

BEGAN = 1_795_870_000.0
FAILED = BEGAN + 5400.0
RANKS_OF_NODE = 8
HOSTILE_HOST = "<img src=x onerror=alert(1)>\u202e\x1b[31m" + "h" * 3000


def make_job_verdict(
    headline: str,
    cause: str = "cuda_oom",
    *,
    disposition: Disposition = Disposition.FAILED,
    attribution: Attribution = Attribution.JOB,
    **more: object,
) -> Verdict:
    """Return the verdict of a job."""
    verdict = Verdict(
        headline=headline,
        cause=cause,
        disposition=disposition,
        attribution=attribution,
        retry=Retry.AFTER_FIX,
        confidence=0.93,
        exit_code=1,
        signal=None,
        run_id=None,
        attempt=1,
        host=None,
        log_path=None,
        family=None,
        fault_class=None,
        paper_class=None,
    )
    return replace(verdict, **more)


def make_node(index: int, **fields: object) -> NodeSummary:
    """Return a node that lost another one."""
    node = NodeSummary(
        host=f"gpu{index:03d}",
        node=index,
        ranks=f"{RANKS_OF_NODE * index}-{RANKS_OF_NODE * index + RANKS_OF_NODE - 1}",
        run_id=f"20261128-17{index % 60:02d}00-{index:06d}-abcd",
        record_path=f"/var/lib/gpualert/runs/run-{index}",
        state=NodeState.ENDED,
        part=NodePart.CASCADE,
        cause="collective",
        disposition="failed",
        exit_code=1,
        headline="A collective failed: a peer closed its connection",
        started_at=BEGAN,
        failed_at=FAILED + 0.3 + index % 7 / 10,
        ended_at=FAILED + 4.0,
        heard_at=FAILED + 5.0,
        position=1200.0 + index % 2,
        pace_s=0.42,
        gpu_percent=97.0,
    )
    return replace(node, **fields)


def make_culprit(index: int, **fields: object) -> NodeSummary:
    """Return the node with the root cause."""
    found = make_node(
        index,
        part=NodePart.CULPRIT,
        cause="cuda_oom",
        headline="CUDA out of memory: 2.0 GiB asked, 0.4 GiB free",
        failed_at=FAILED,
    )
    return replace(found, **fields)


def make_report_of_job(verdict: Verdict, nodes: list[NodeSummary], **fields: object) -> JobReport:
    """Return the report of a job that has ended."""
    report = JobReport(
        job="slurm-4711",
        name="4711",
        state=JobState.ENDED,
        verdict=verdict,
        attempt=1,
        attempts=1,
        nodes=tuple(nodes),
        expected_nodes=len(nodes),
        world_size=RANKS_OF_NODE * len(nodes),
        started_at=BEGAN,
        ended_at=FAILED + 4.0,
        is_settled=True,
    )
    return replace(report, **fields)


def make_one_culprit(count: int = 8, culprit: int = 3) -> JobReport:
    """Return a job that one node brought down."""
    first = make_culprit(culprit)
    others = [make_node(index) for index in range(count) if index != culprit]
    rank = RANKS_OF_NODE * culprit + 5
    verdict = make_job_verdict(
        f"CUDA out of memory on {first.host} (rank {rank}): 2.0 GiB asked, 0.4 GiB free",
        run_id=first.run_id,
        host=first.host,
        details={"node": culprit, "rank": rank, "nodes": count},
        shows=(
            Claim(f"CUDA out of memory on rank {rank}", f"digest of {first.host}", rank=rank),
            Claim(f"{count - 1} other nodes lost it within 1.0 s", "digests"),
        ),
        implies="The memory plan of this rank does not fit its GPU.",
        do=("Lower the batch size.", "Look at the log of gpu003."),
        cannot_decide=("The use of memory by other processes on that GPU is not known.",),
    )
    return make_report_of_job(verdict, [first, *others])


def make_large_job() -> JobReport:
    """Return a job of 750 nodes: one culprit, silent, missing and healthy ones, else cascades."""
    report = make_one_culprit(750, 417)
    return replace(report, nodes=tuple(map(_vary_node, report.nodes)))


def _vary_node(node: NodeSummary) -> NodeSummary:
    index = node.node or 0
    if index in (12, 13):
        return NodeSummary(
            host=node.host, node=index, state=NodeState.MISSING, part=NodePart.UNKNOWN
        )
    if 96 <= index < 104:
        return replace(node, state=NodeState.SILENT, part=NodePart.UNKNOWN, disposition=None)
    if 640 <= index < 656:
        healthy = replace(node, part=NodePart.HEALTHY, cause="none", disposition="completed")
        return replace(healthy, exit_code=0, failed_at=None)
    if index == 418:
        return replace(node, part=NodePart.SAME, cause="cuda_oom", clock_offset_s=-93.2)
    return node


def make_same_config_error() -> JobReport:
    """Return a job in which all nodes had the same error, so that none is the culprit."""
    nodes = [
        make_node(
            index,
            part=NodePart.SAME,
            cause="config",
            failed_at=BEGAN + 9.0,
            headline="argument --lr: invalid float value: '3e-4x'",
            position=None,
            pace_s=None,
            gpu_percent=None,
        )
        for index in range(8)
    ]
    verdict = make_job_verdict("All 8 nodes: argument --lr: invalid float value", "config")
    return make_report_of_job(verdict, nodes, attempt=2, attempts=2, ended_at=BEGAN + 12.0)


def make_straggling_job() -> JobReport:
    """Return a live job in which one node is slow."""
    nodes = [
        make_node(
            index,
            state=NodeState.RUNNING,
            part=NodePart.HEALTHY,
            cause=None,
            disposition=None,
            exit_code=None,
            headline="",
            failed_at=None,
            ended_at=None,
            pace_s=0.42 + index / 1000,
            gpu_percent=62.0,
        )
        for index in range(8)
    ]
    slow = replace(nodes[5], part=NodePart.CULPRIT, pace_s=0.71, gpu_percent=99.0)
    verdict = make_job_verdict(
        "gpu005 is slow: 0.71 s per step, 0.42 s on the others",
        "straggler",
        disposition=Disposition.RUNNING,
        attribution=Attribution.INFRASTRUCTURE,
        warnings=(VerdictWarning("straggler", "gpu005 holds back 7 nodes since 12 minutes."),),
    )
    return make_report_of_job(
        verdict, [slow, *nodes[:5], *nodes[6:]], state=JobState.RUNNING, ended_at=None
    )


def make_hung_job() -> JobReport:
    """Return a job of which one rank did not enter a collective, and which still runs."""
    report = make_straggling_job()
    nodes = tuple(replace(one, pace_s=None, gpu_percent=100.0) for one in report.nodes)
    verdict = make_job_verdict(
        "Hung since 11 min: rank 41 on gpu005 did not enter ALLREDUCE number 1203",
        "collective",
        disposition=Disposition.RUNNING,
        shows=(
            Claim("63 ranks wait in ALLREDUCE number 1203", "digests"),
            Claim("Rank 41 stands in load_batch (data.py:88)", "digest of gpu005", rank=41),
        ),
        cannot_decide=("The reason why load_batch does not return is not known.",),
    )
    return replace(report, verdict=verdict, nodes=nodes, state=JobState.FAILING)


def make_hostile_job() -> JobReport:
    """Return a job whose digests have hostile texts and absurd numbers."""
    nodes = [
        make_culprit(
            0,
            host=HOSTILE_HOST,
            ranks="<b>" * 900,
            cause="</code><script>x</script>",
            headline=HOSTILE_HOST,
            position=1e300,
            pace_s=-1e300,
            gpu_percent=float("nan"),
            clock_offset_s=float("inf"),
            failed_at=1e308,
            run_id="../../etc/passwd",
        ),
        *(make_node(10**12 - index, host="") for index in range(40)),
    ]
    verdict = make_job_verdict(HOSTILE_HOST, "<cause>", implies=HOSTILE_HOST, do=(HOSTILE_HOST,))
    return make_report_of_job(
        verdict,
        nodes,
        name=HOSTILE_HOST,
        started_at=1e300,
        ended_at=-1e300,
        world_size=10**15,
        expected_nodes=10**12,
    )


JOBS = {
    "culprit": make_one_culprit,
    "large": make_large_job,
    "config": make_same_config_error,
    "straggler": make_straggling_job,
    "hung": make_hung_job,
    "hostile": make_hostile_job,
}
"""Jobs by kind."""


def write_run(home: Path, job: Mapping[str, str] | None) -> Record:
    """Return the record of a run that belongs to a job."""
    folder = home / "runs"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    written = Scene(code=1, seconds=30.0, log="CUDA out of memory\n").record(folder)
    path = Path(written.path, SPEC)
    path.write_text(json.dumps({**json.loads(path.read_text()), "job": job}))
    return Record.open(written.path)


def write_digests(directory: Path, count: int) -> None:
    """Write the digests of a job in which node 3 failed first."""
    job = JobDirectory(open_store(str(directory)), KEY)
    for node in range(count):
        failed = end(compose(node, count), "cuda_oom") if node == 3 else lose(node, nodes=count)
        job.write_digest(failed)
