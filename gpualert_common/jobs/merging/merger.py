"""Merging of the digests of a job into its report."""

from __future__ import annotations

from gpualert_common.jobs.digests.digest import StoredDigest
from gpualert_common.jobs.job_report import (
    JobReport,
    JobState,
    NodePart,
    NodeState,
    NodeSummary,
)
from gpualert_common.jobs.merging.attempts import list_attempts
from gpualert_common.jobs.merging.job_facts import JobFacts, collect_facts
from gpualert_common.jobs.merging.job_nodes import JobNode
from gpualert_common.jobs.merging.job_verdict import make_verdict, part_of
from gpualert_common.jobs.merging.node_run import NodeRun, note_stamp, summarize_digest
from gpualert_common.jobs.merging.verdict_parts import JobVerdictParts
from gpualert_common.jobs.merging.waiting import find_due_time
from gpualert_common.processes.rank_names import format_numbers
from gpualert_common.structs import replace

_ORDER = (NodePart.CULPRIT, NodePart.SAME, NodePart.UNKNOWN, NodePart.CASCADE, NodePart.HEALTHY)


class JobMerger:
    """Merges digests one by one, in any order, and keeps a summary of each.

    A newer digest of the same run replaces the older one.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._runs: dict[str, NodeRun] = {}

    def add(self, stored: StoredDigest) -> None:
        """Add one digest; one of another job, and an outdated one, count for nothing."""
        digest = stored.digest
        if digest.job != self._key or not digest.run_id:
            return
        known = self._runs.get(digest.run_id)
        run = summarize_digest(stored)
        if known is None or _is_newer(run, known):
            self._runs[digest.run_id] = run

    def add_unreadable(self, run_id: str, modified_at: float) -> None:
        """Add the stamp of a digest that cannot be read: the run lived when it was written."""
        known = self._runs.get(run_id)
        if known is not None:
            self._runs[run_id] = note_stamp(known, modified_at)

    @property
    def heard_at(self) -> float:
        """Time of the newest sign of life of a run, in the common time; 0 without a digest."""
        return max((run.heard_at for run in self._runs.values()), default=0.0)

    def find_attempt(self, run_id: str) -> int | None:
        """Return the number of the attempt that a run belongs to; None for an unknown run."""
        for number, runs in list_attempts(self._runs.values()).items():
            if any(run.run_id == run_id for run in runs):
                return number
        return None

    def conclude(self, now: float, attempt: int | None = None) -> JobReport | None:
        """Return the report at the time ``now`` by the clock of the store.

        It is that of the newest attempt, or of the one with the number ``attempt``.  None without
        a digest of it.
        """
        attempts = list_attempts(self._runs.values())
        number = max(attempts, default=0) if attempt is None else attempt
        if number not in attempts:
            return None
        runs = attempts[number]
        facts = collect_facts(runs, now)
        verdict, parts = make_verdict(facts, number)
        due_at = find_due_time(facts.nodes, facts.expected, facts.root, now)
        ends = [run.ended_at or run.at for run in runs if run.is_ended]
        return JobReport(
            job=self._key,
            name=next((run.name for run in runs if run.name), self._key),
            state=facts.state,
            verdict=verdict,
            attempt=number,
            attempts=len(attempts),
            nodes=tuple(_list_nodes(facts, parts)),
            expected_nodes=facts.expected,
            world_size=max((run.world_size for run in runs if run.world_size), default=None),
            started_at=min(run.started_at for run in runs),
            ended_at=max(ends) if ends and facts.state is JobState.ENDED else None,
            is_settled=0.0 < due_at <= now,
            due_at=due_at,
        )


def _is_newer(run: NodeRun, known: NodeRun) -> bool:
    """Return whether a digest is newer; a run that has ended does not begin again."""
    return (run.is_ended, run.sequence, run.at, run.heard_at) > (
        known.is_ended,
        known.sequence,
        known.at,
        known.heard_at,
    )


def _list_nodes(facts: JobFacts, parts: JobVerdictParts) -> list[NodeSummary]:
    found = [_summarize(node, part_of(node, parts, facts)) for node in facts.nodes]
    found += [
        NodeSummary(
            host=f"node {index}", node=index, state=NodeState.MISSING, part=NodePart.UNKNOWN
        )
        for index in facts.missing
    ]
    if not facts.missing:
        found += [
            NodeSummary(host="", state=NodeState.MISSING, part=NodePart.UNKNOWN)
            for _ in range(facts.missing_count)
        ]
    root = None if facts.root is None else facts.root.failure.run.run_id
    return sorted(found, key=lambda one: (_ORDER.index(one.part), one.run_id != root))


def _summarize(node: JobNode, part: NodePart) -> NodeSummary:
    run = node.main_run
    verdict = run.verdict
    failure = node.failures[0] if node.failures else None
    ends = [one.ended_at or one.at for one in node.runs if one.is_ended]
    summary = NodeSummary(
        host=run.host,
        state=node.state,
        part=part,
        node=run.node,
        ranks=format_numbers(node.ranks),
        run_id=run.run_id,
        record_path=run.record_path,
        cause=failure.cause if failure else None,
        started_at=min(one.started_at for one in node.runs),
        failed_at=failure.at if failure else None,
        ended_at=max(ends) if len(ends) == len(node.runs) else None,
        heard_at=node.heard_at,
        position=run.position,
        pace_s=run.pace_s,
        gpu_percent=run.gpu_percent,
        clock_offset_s=run.offset_s,
    )
    if verdict is None:
        return summary
    return replace(
        summary,
        cause=verdict.cause,
        disposition=str(verdict.disposition),
        exit_code=verdict.exit_code,
        headline=verdict.headline,
    )
