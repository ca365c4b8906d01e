"""The verdict of a job in which every node that failed only lost a peer."""

from __future__ import annotations

from gpualert_common.jobs.merging.failures import FailureKind
from gpualert_common.jobs.merging.job_facts import JobFacts
from gpualert_common.jobs.merging.lost_peers import Loss, LossKind
from gpualert_common.jobs.merging.node_names import fold_names
from gpualert_common.jobs.merging.verdict_parts import (
    JobVerdictParts,
    count_nodes_in_words,
    describe_end,
    list_other_causes,
)
from gpualert_common.model import Attribution, Claim, Disposition, Retry
from gpualert_common.processes.rank_names import name_ranks
from gpualert_common.report.formatting import duration
from gpualert_common.structs import replace

_RESTART = "start the job again from its last checkpoint"


def describe_loss(facts: JobFacts, loss: Loss) -> JobVerdictParts:
    """Return the verdict that explains the lost peers."""
    losses = [one for node in facts.nodes for one in node.failures]
    first = min(losses, key=lambda one: (one.at, one.run.run_id))
    titles = {node.runs[0].place: node.title for node in facts.nodes}
    verdict = first.run.verdict
    head = describe_end(first) if verdict is None else verdict.headline
    claim = Claim(
        f"{titles[first.run.place]} {'failed' if first.is_unexplained else 'lost a peer'} first:"
        f" {head}",
        f"digest of {titles[first.run.place]}",
        rank=first.rank,
    )
    names = fold_names(node.title for node in loss.nodes)
    lost = count_nodes_in_words(len(facts.failed))
    is_start = all(one.cause == "rendezvous" for one in losses)
    parts = JobVerdictParts(
        "",
        "rendezvous" if is_start else "collective",
        disposition=Disposition.FAILED if verdict is None else verdict.disposition,
        attribution=Attribution.INFRASTRUCTURE,
        confidence=loss.confidence,
        family="C1" if is_start else "C2",
        fault_class="network",
        paper_class="nccl" if not is_start else None,
        run=loss.nodes[0].main_run if len(loss.nodes) == 1 else None,
        rank=loss.ranks[0] if len(loss.ranks) == 1 else None,
        culprits=loss.nodes,
        lost_ranks=loss.ranks,
        details={"root_at": first.at},
        shows=(*_list_accusations(facts, loss), claim),
        implies="No node reports a failure of its own.",
        do=(_RESTART,),
        secondary=list_other_causes(
            [one for one in losses if one.kind is not FailureKind.LOST_PEER], facts.nodes, first
        ),
    )
    match loss.kind:
        case LossKind.SILENT_NODE | LossKind.SILENT_NODES:
            return _describe_silence(loss, parts, lost)
        case LossKind.MANY_SILENT:
            return replace(
                parts,
                headline=f"Communication between the nodes failed: {lost} lost a peer, and nothing"
                f" was heard of {count_nodes_in_words(len(loss.nodes))}: {names}",
                culprits=(),
                cannot_decide=(
                    "whether these nodes failed, or lost the network or the job directory",
                    "which node failed first: each only reports that a peer was lost",
                ),
                do=("look at the state of these nodes, and of the job directory", _RESTART),
            )
        case LossKind.NEVER_STARTED:
            return _describe_missing(facts, parts)
        case LossKind.SPLIT:
            ends = " and ".join(fold_names(node.title for node in part) for part in loss.parts)
            return replace(
                parts,
                headline=f"The nodes lost each other: {ends}",
                implies="Both parts ran on, and each reports that the other is gone:"
                " the network between them failed.",
                cannot_decide=("which link or switch failed",),
                do=(f"check the network between {ends}", _RESTART),
            )
        case LossKind.STALL:
            text = "" if loss.stall is None else loss.stall.text
            on = f" on {names}" if names else ""
            return replace(
                parts,
                headline=f"Hung in a collective: {text}{on}",
                attribution=Attribution.UNKNOWN,
                shows=(Claim(text, "collectives of all nodes"), *parts.shows),
                implies="These ranks did not take part in the collective that the others wait for.",
                cannot_decide=("why these ranks did not get there: look at their stacks",),
                do=(f"look at the log and the stacks of {name_ranks(loss.ranks)}", _RESTART),
            )
        case LossKind.NO_REPORT:
            rank = name_ranks(loss.ranks)
            total = max(one.run.world_size or 0 for one in losses)
            return replace(
                parts,
                headline=f"{rank.capitalize()} on {names} is the only one of {total} ranks that"
                " reported no lost peer",
                attribution=Attribution.UNKNOWN,
                shows=(
                    Claim(f"all ranks but {rank} reported a lost peer", "digests of all nodes"),
                    *parts.shows,
                ),
                implies=f"The others waited for {rank}, which did not come: it was slow, hung or"
                " stopped, or ended without a message.",
                cannot_decide=(f"where {rank} stood while the others waited: no stack shows it",),
                do=(
                    f"look at the last lines of {rank}, and for work that only it does",
                    "next time, take the stacks before the time-out: gpualert stacks",
                    _RESTART,
                ),
            )
        case LossKind.NAMED_RANK:
            return replace(
                parts,
                headline=f"{name_ranks(loss.ranks).capitalize()} on {names}"
                f" {'was' if len(loss.ranks) == 1 else 'were'} lost by"
                f" {count_nodes_in_words(len({one.run.place for one in loss.accusers}))}",
                implies=f"The other nodes name {names}, which reports no failure of its own.",
                cannot_decide=(f"how {name_ranks(loss.ranks)} ended: no digest shows it",),
                do=(f"look at the log and the kernel log of {names}", _RESTART),
            )
        case LossKind.STILL_RUNNING:
            return replace(
                parts,
                headline=f"{lost} lost a peer; {names} went on, and reports no failure",
                implies=f"The others waited for {names}, which did not come.",
                cannot_decide=(f"whether {names} hangs, or is slow: it has not ended",),
                do=(f"take the stacks of the run on {names}: gpualert stacks", _RESTART),
            )
        case LossKind.COMPLETED:
            is_one = len(loss.nodes) == 1
            return replace(
                parts,
                headline=f"{names} completed; {lost} lost {'it' if is_one else 'them'} as a peer",
                attribution=Attribution.UNKNOWN,
                implies=f"The ranks of {names} left the group while the others still used it, as"
                " where they have fewer batches.",
                cannot_decide=(f"whether {names} left too early, or the others were too slow",),
                do=("compare the numbers of steps and batches of the ranks",),
            )
        case LossKind.NONE:
            return _describe_unknown(facts, loss, parts, lost)


def _list_accusations(facts: JobFacts, loss: Loss) -> list[Claim]:
    titles = {node.runs[0].place: node.title for node in facts.nodes}
    found = []
    for one in loss.accusers[:3]:
        title = titles[one.run.place]
        found.append(Claim(f"{title} names rank {one.lost_rank} as lost", f"digest of {title}"))
    return found


def _describe_silence(loss: Loss, parts: JobVerdictParts, lost: str) -> JobVerdictParts:
    names = fold_names(node.title for node in loss.nodes)
    ranks = f" ({name_ranks(loss.ranks)})" if loss.ranks else ""
    heard_at = max(node.heard_at for node in loss.nodes)
    first_at = float(parts.details["root_at"] or 0.0)
    since = duration(max(0.0, first_at - heard_at))
    is_one = len(loss.nodes) == 1
    noun = "Node" if is_one else "Nodes"
    verb = "was" if is_one else "were"
    silence = Claim(
        f"the last digest of {names} is from {since} before the first loss",
        f"digest of {names}" if is_one else "their digests",
    )
    doubts = [f"why {names} failed: the records of the node and of the scheduler have the reason"]
    if not is_one:
        doubts = [
            f"whether {names} failed, or lost the network or the job directory: all are silent",
            *doubts,
        ]
    run = "its run" if is_one else "their runs"
    return replace(
        parts,
        headline=f"{noun} {names}{ranks} {verb} lost; {lost} lost {'it' if is_one else 'them'}",
        cause="node_failure",
        family="F1",
        fault_class="cluster",
        paper_class=None,
        attribution=Attribution.INFRASTRUCTURE,
        retry=Retry.SAME,
        shows=(silence, *parts.shows),
        implies=f"{names} stopped in the middle of the job, without an end of {run}.",
        cannot_decide=tuple(doubts),
        do=(
            f"start the job again from its last checkpoint, without {names}",
            "report the node and the time to the administrators",
        ),
    )


def _describe_missing(facts: JobFacts, parts: JobVerdictParts) -> JobVerdictParts:
    indexes = fold_names(f"node {index}" for index in facts.missing)
    names = indexes or count_nodes_in_words(facts.missing_count)
    total = count_nodes_in_words(facts.node_count)
    if parts.cause == "rendezvous":
        return replace(
            parts,
            headline=f"{len(facts.nodes)} of {total} started; {names} never reported",
            implies="The ranks waited for nodes that did not come, so no training step ran.",
            cannot_decide=(f"whether {names} did not start, or could not reach the others",),
            do=("look at the state of these nodes in the scheduler", "start the job again"),
        )
    return replace(
        parts,
        headline=f"Communication failed on {count_nodes_in_words(len(facts.failed))};"
        f" {names} never wrote a digest",
        cannot_decide=(f"whether {names} failed first: no digest of it is there",),
        do=("look at the logs of these nodes", _RESTART),
    )


def _describe_unknown(
    facts: JobFacts, loss: Loss, parts: JobVerdictParts, lost: str
) -> JobVerdictParts:
    stall = loss.stall
    if stall is not None:
        return replace(
            parts,
            headline=f"Communication stalled: {stall.text}",
            shows=(Claim(stall.text, f"{stall.source} of all nodes"), *parts.shows),
            implies="All ranks take part, so the transfer itself fails: the network or a GPU.",
            cannot_decide=("which link, switch or GPU holds it up",),
            do=("check links and switches of these nodes", _RESTART),
        )
    if all(one.cause == "unknown" for node in facts.nodes for one in node.failures):
        return replace(
            parts,
            headline=f"The end of the run is not known on {lost}"
            if parts.disposition is Disposition.UNKNOWN
            else f"Failed on {lost}, for an unknown reason",
            cause="unknown",
            family=None,
            fault_class=None,
            paper_class=None,
            attribution=Attribution.UNKNOWN,
            confidence=0.3,
            do=("look at the logs of the nodes",),
        )
    return replace(
        parts,
        headline=f"Communication between the nodes failed: {lost} lost a peer",
        cannot_decide=("which node failed first: each only reports that a peer was lost",),
        do=("check links and switches of these nodes", _RESTART),
    )
