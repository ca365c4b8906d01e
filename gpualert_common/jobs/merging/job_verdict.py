"""The verdict of a job, from the facts about its nodes."""

from __future__ import annotations

from gpualert_common.classify.details import Scalar
from gpualert_common.jobs.job_report import JobState, NodePart, NodeState
from gpualert_common.jobs.merging.job_facts import JobFacts, find_slow_cause
from gpualert_common.jobs.merging.job_nodes import JobNode
from gpualert_common.jobs.merging.loss_verdict import describe_loss
from gpualert_common.jobs.merging.node_names import fold_names
from gpualert_common.jobs.merging.root_verdict import describe_root
from gpualert_common.jobs.merging.verdict_parts import JobVerdictParts, count_nodes_in_words
from gpualert_common.model import (
    Attribution,
    Claim,
    Disposition,
    Retry,
    Verdict,
    VerdictWarning,
)
from gpualert_common.structs import replace

_ELSEWHERE = "run a benchmark on that node alone and compare; until then, leave the node out"
_COMPARE_STACKS = "while such a job runs, compare `gpualert stacks` on that node and another one"


def make_verdict(facts: JobFacts, attempt: int) -> tuple[Verdict, JobVerdictParts]:
    """Return the verdict of a job, and the parts that it was made of."""
    if facts.root is not None:
        parts = describe_root(facts, facts.root)
    elif facts.loss is not None:
        parts = describe_loss(facts, facts.loss)
    elif facts.state is JobState.RUNNING:
        parts = _describe_running(facts)
    else:
        parts = _describe_end(facts)
    run = parts.run
    verdict = Verdict(
        headline=parts.headline,
        cause=parts.cause,
        disposition=parts.disposition,
        attribution=parts.attribution,
        retry=parts.retry,
        confidence=round(parts.confidence, 2),
        exit_code=None if run is None or run.verdict is None else run.verdict.exit_code,
        signal=None if run is None or run.verdict is None else run.verdict.signal,
        run_id=None if run is None else run.run_id,
        attempt=attempt,
        host=None if run is None else run.host,
        log_path=None,
        family=parts.family,
        fault_class=parts.fault_class,
        paper_class=parts.paper_class,
        details={**parts.details, **_count_details(facts), **_place_details(parts)},
        shows=parts.shows,
        implies=parts.implies,
        cannot_decide=parts.cannot_decide,
        do=parts.do,
        secondary=parts.secondary,
        warnings=_list_warnings(facts),
    )
    return verdict, parts


def _place_details(parts: JobVerdictParts) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {"host": None, "node": None, "rank": parts.rank}
    if parts.run is not None:
        found |= {"host": parts.run.host, "node": parts.run.node}
    elif parts.culprits:
        found |= {"culprits": fold_names(node.title for node in parts.culprits)}
    if parts.lost_ranks:
        found["ranks"] = ", ".join(map(str, parts.lost_ranks[:64]))
    return found


def _count_details(facts: JobFacts) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {
        "nodes": facts.node_count,
        "failed_nodes": len(facts.failed),
        "silent_nodes": len(facts.silent),
        "missing_nodes": facts.missing_count,
    }
    if facts.silent:
        found["silent_names"] = fold_names(node.title for node in facts.silent)
    if facts.missing:
        found["missing_names"] = fold_names(f"node {index}" for index in facts.missing)
    return found


def _describe_running(facts: JobFacts) -> JobVerdictParts:
    """Return the verdict of a job without a failure that is not over."""
    total = count_nodes_in_words(facts.node_count)
    silent = facts.silent
    if len(silent) == len(facts.nodes):
        headline = f"Nothing was heard of {'its node' if len(silent) == 1 else f'all {total}'}"
        return JobVerdictParts(
            f"{headline} for some time",
            "unknown",
            disposition=Disposition.UNKNOWN,
            retry=Retry.SAME,
            confidence=0.3,
            implies="The whole job ended, or the job directory cannot be reached by its nodes.",
            cannot_decide=("whether the job ended, or only its digests: all are silent",),
            do=("look at the state of the job in its scheduler", "run `gpualert recover` there"),
        )
    done = sum(node.state is NodeState.ENDED for node in facts.nodes)
    headline = f"{total} running" if not done else f"{done} of {total} completed, the others run"
    if silent:
        headline += f"; nothing was heard of {fold_names(node.title for node in silent)}"
    return JobVerdictParts(
        headline,
        "none",
        disposition=Disposition.RUNNING,
        attribution=Attribution.NONE,
        retry=Retry.NO,
        confidence=0.5,
        cannot_decide=("whether silent nodes failed, or only their digests",) if silent else (),
    )


def _describe_end(facts: JobFacts) -> JobVerdictParts:
    """Return the verdict of a job whose nodes completed, as far as they were heard of."""
    ended = [node for node in facts.nodes if node.state is NodeState.ENDED]
    unclear = [node for node in ended if any(run.verdict is None for run in node.runs)]
    done = [node for node in ended if node not in unclear]
    total = count_nodes_in_words(facts.node_count)
    if unclear:
        names = fold_names(node.title for node in unclear)
        return JobVerdictParts(
            f"{len(done)} of {total} completed; the end of the run on {names} is not known",
            "unknown",
            disposition=Disposition.UNKNOWN,
            confidence=0.3,
            run=unclear[0].main_run if len(unclear) == 1 else None,
            culprits=tuple(unclear),
            cannot_decide=(f"how the run on {names} ended: its digest has no verdict",),
            do=(f"run `gpualert recover` on {names}, or look at the records there",),
        )
    if facts.silent or facts.missing_count:
        names = fold_names(node.title for node in facts.silent)
        names = names or count_nodes_in_words(facts.missing_count, "expected")
        return JobVerdictParts(
            f"{len(done)} of {total} completed; nothing was heard of {names}",
            "unknown",
            disposition=Disposition.UNKNOWN,
            retry=Retry.SAME,
            confidence=0.4,
            run=facts.silent[0].main_run if len(facts.silent) == 1 else None,
            culprits=facts.silent,
            implies="The nodes that reported completed, so the training probably did.",
            cannot_decide=(f"how the run on {names} ended: it has no final digest",),
            do=("run `gpualert recover` on that node, or look at its record there",),
        )
    parts = JobVerdictParts(
        f"Completed on {'all ' if len(done) > 1 else ''}{total}",
        "none",
        disposition=Disposition.COMPLETED,
        attribution=Attribution.NONE,
        retry=Retry.NO,
        confidence=min((run.verdict.confidence for node in done for run in node.runs
                        if run.verdict is not None), default=0.5),
        family="G1",
    )  # fmt: skip
    slow = find_slow_cause(done)
    if facts.straggler is not None:
        return _describe_straggler(facts, parts)
    if slow is not None and slow.runs[0].verdict is not None:
        run, own = slow.runs[0], slow.runs[0].verdict
        return replace(
            parts,
            headline=f"Completed, but slow on {slow.title}: {own.headline}",
            cause=own.cause,
            attribution=own.attribution,
            retry=own.retry,
            confidence=own.confidence,
            family=own.family,
            fault_class=own.fault_class,
            run=run,
            culprits=(slow,),
            implies=own.implies,
            do=own.do,
        )
    return parts


def _describe_straggler(facts: JobFacts, parts: JobVerdictParts) -> JobVerdictParts:
    found = facts.straggler
    if found is None:
        return parts
    rank = "" if found.rank is None else f" (rank {found.rank})"
    speed = f" at {found.percent} % of the speed of the others" if found.percent else ""
    source = f"digest of {found.node.title}"
    return replace(
        parts,
        headline=f"Completed, but {found.node.title}{rank} was slower: it ran{speed}"
        if speed
        else f"Completed, but the others waited for {found.node.title}{rank}",
        cause="straggler",
        attribution=Attribution.INFRASTRUCTURE if found.is_of_machine else Attribution.UNKNOWN,
        retry=Retry.ELSEWHERE,
        confidence=0.85 if found.is_supported else 0.65,
        family="D3",
        fault_class="throughput",
        run=found.node.main_run,
        rank=found.rank,
        culprits=(found.node,),
        shows=tuple(Claim(text, source, rank=found.rank) for text in found.texts),
        implies="A synchronous training runs at the speed of its slowest rank.",
        cannot_decide=(
            "whether the card, the node, or another program on it is the reason"
            if found.is_of_machine
            else "whether it has more work than the others, or a slow processor, disk or network",
        ),
        do=(_ELSEWHERE,) if found.is_of_machine else (_COMPARE_STACKS, _ELSEWHERE),
    )


def _list_warnings(facts: JobFacts) -> tuple[VerdictWarning, ...]:
    found = []
    if facts.silent:
        names = fold_names(node.title for node in facts.silent)
        found.append(("silent_nodes", f"the digests of {names} are overdue"))
    if facts.missing_count:
        names = fold_names(f"node {index}" for index in facts.missing)
        names = names or count_nodes_in_words(facts.missing_count)
        found.append(("missing_nodes", f"no digest of {names}, which the job expects"))
    if facts.stall is not None and facts.state is JobState.RUNNING:
        found.append(("hung", f"the ranks make no progress: {facts.stall.text}"))
    if facts.straggler is not None and (facts.failed or facts.state is JobState.RUNNING):
        found.append(("straggler", "; ".join(facts.straggler.texts)))
    raised: dict[str, list[str]] = {}
    for node in facts.nodes:
        for run in node.runs:
            for kind in run.warnings:
                raised.setdefault(kind, []).append(node.title)
    for kind, names_of in sorted(raised.items())[:8]:
        words = kind.replace("_", " ")
        found.append((kind, f"the warning {words} is raised on {fold_names(names_of)}"))
    clocks = [
        node.title
        for node in facts.nodes
        for run in node.runs
        if abs(run.offset_s) >= _NOTABLE_OFFSET_S
    ]
    if clocks:
        names = fold_names(dict.fromkeys(clocks))
        found.append(("clocks", f"the clock of {names} is wrong, and its times are corrected"))
    return tuple(VerdictWarning(kind, text) for kind, text in found)


_NOTABLE_OFFSET_S = 5.0
"""Clocks that are wrong by less still order events of the same minute."""


def part_of(node: JobNode, parts: JobVerdictParts, facts: JobFacts) -> NodePart:
    """Return the part of a node in the failure of its job."""
    if node in parts.culprits:
        return NodePart.CULPRIT
    if node.title in parts.same:
        return NodePart.SAME
    if node.failures:
        return NodePart.CASCADE if parts.culprits or facts.root is not None else NodePart.UNKNOWN
    return NodePart.HEALTHY if node.is_well else NodePart.UNKNOWN
