"""The verdict of a job that has a root: the failure of one node, or one that most nodes share."""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.classify.details import Scalar
from gpualert_common.jobs.merging.failures import Failure, FailureKind
from gpualert_common.jobs.merging.job_facts import JobFacts
from gpualert_common.jobs.merging.job_nodes import JobNode
from gpualert_common.jobs.merging.node_faults import NodeFault
from gpualert_common.jobs.merging.node_names import fold_names
from gpualert_common.jobs.merging.roots import Root, order_by_time
from gpualert_common.jobs.merging.verdict_parts import (
    JobVerdictParts,
    count_nodes_in_words,
    describe_end,
    describe_lead,
    list_other_causes,
)
from gpualert_common.model import Attribution, Claim, Disposition, Retry
from gpualert_common.structs import replace

_MOST_CONFIDENCE = 0.97
"""A job's verdict depends on more clocks and files than that of one run."""
_PROVISIONAL, _RIVALED, _WEAKER_RIVALS, _SILENCE = 0.7, 0.55, 0.75, 0.6
_UNEXPLAINED = 0.5
_NODE_FAULT, _FILE_FAULT = 0.85, 0.65
_STALL = 0.85


def describe_root(facts: JobFacts, root: Root) -> JobVerdictParts:
    """Return the verdict of a job with this root."""
    parts = _describe_failure(facts, root)
    if facts.stall is not None and facts.stall.ranks:
        return _name_stalled_ranks(facts, parts)
    return _consider_node(facts, parts)


def _describe_failure(facts: JobFacts, root: Root) -> JobVerdictParts:
    failure, verdict = root.failure, root.failure.run.verdict
    node = next(one for one in facts.nodes if one.runs[0].place == failure.run.place)
    rest = [one for one in _failures_of(facts) if one.run is not failure.run]
    alike = frozenset(root.same)
    others = [one for one in rest if one not in alike]
    same = {one.run.place for one in root.same}
    titles = frozenset(one.title for one in facts.nodes if one.runs[0].place in same)
    head = describe_end(failure) if verdict is None else verdict.headline
    details: dict[str, Scalar] = {} if verdict is None else dict(verdict.details)
    details["root_at"] = failure.at
    parts = JobVerdictParts(
        _write_headline(facts, root, node, head),
        failure.cause,
        confidence=_find_confidence(facts, root),
        run=None if root.is_shared else failure.run,
        rank=None if root.is_shared else failure.rank,
        culprits=() if root.is_shared else (node,),
        same=titles | {node.title} if root.is_shared else titles,
        details=details,
        shows=tuple(_list_claims(facts, root, node, head)),
        cannot_decide=tuple(_list_doubts(facts, root, node)),
        secondary=list_other_causes(others, facts.nodes, failure),
    )
    if verdict is None:
        return replace(parts, implies=f"The run on {node.title} has no verdict yet.")
    return replace(
        parts,
        disposition=_find_disposition(facts, verdict.disposition),
        attribution=verdict.attribution,
        retry=verdict.retry,
        family=verdict.family,
        fault_class=verdict.fault_class,
        paper_class=verdict.paper_class,
        implies=verdict.implies,
        cannot_decide=(*parts.cannot_decide, *verdict.cannot_decide),
        do=verdict.do or (f"on {failure.run.host}, run `gpualert show {failure.run.run_id}`",),
    )


def _failures_of(facts: JobFacts) -> list[Failure]:
    return [one for node in facts.nodes for one in node.failures]


def _find_disposition(facts: JobFacts, own: Disposition) -> Disposition:
    """Return the disposition of the culprit; a job of which another node failed did not complete"""
    failed = [one.run.verdict for one in _failures_of(facts)]
    has_failed = any(one and one.disposition is not Disposition.COMPLETED for one in failed)
    return Disposition.FAILED if own is Disposition.COMPLETED and has_failed else own


def _find_confidence(facts: JobFacts, root: Root) -> float:
    failure = root.failure
    verdict = failure.run.verdict
    found = min(_MOST_CONFIDENCE, 0.6 if verdict is None else verdict.confidence)
    if failure.is_provisional:
        found = min(found, _PROVISIONAL)
    if failure.is_unexplained:
        found = min(found, _UNEXPLAINED)
    is_weak = failure.kind is FailureKind.WEAK  # a kill on another node may explain it
    if any(is_weak or one.kind >= failure.kind for one in root.rivals):
        found = min(found, _RIVALED)
    elif root.rivals:
        found = min(found, _WEAKER_RIVALS)
    if failure.kind < FailureKind.SPECIFIC and _find_earlier_silence(facts, failure):
        found = min(found, _SILENCE)
    return found


def _find_earlier_silence(facts: JobFacts, failure: Failure) -> tuple[JobNode, ...]:
    """Return the silent nodes that may have failed before: they were last heard of before it."""
    return tuple(node for node in facts.silent if node.heard_at < failure.ends)


def _write_headline(facts: JobFacts, root: Root, node: JobNode, head: str) -> str:
    """Return the node's headline with its name, and the number of the nodes that it took down."""
    failed = {one.run.place for one in _failures_of(facts)}
    same = {one.run.place for one in root.same} | {root.failure.run.place}
    if root.is_shared:
        total = count_nodes_in_words(facts.node_count)
        if len(same) >= facts.node_count:
            return _insert(head, f"on all {total}" if facts.node_count > 1 else "")
        return _insert(head, f"on {len(same)} of {total}")
    if facts.node_count == 1:
        return head
    rank = root.failure.rank
    at = f"on {node.title}"
    if rank is not None and f"rank {rank}" not in head.lower():
        at += f" (rank {rank})"
    lost = len(failed - same)
    more = f"; {count_nodes_in_words(lost, 'other')} failed after it" if lost else ""
    also = len(same) - 1
    more += f"; {count_nodes_in_words(also, 'more')} with the same cause" if also else ""
    return _insert(head, at) + more


def _insert(head: str, place: str) -> str:
    """Return a headline with a place after its first part, as in "No module on gpu7: apex"."""
    first, colon, rest = head.partition(": ")
    return f"{first} {place}{colon}{rest}".rstrip() if place else head


def _list_claims(facts: JobFacts, root: Root, node: JobNode, head: str) -> Iterator[Claim]:
    failure = root.failure
    source = f"digest of {node.title}"
    seen = next((one for one in failure.run.observations if one.cause == failure.cause), None)
    text = None if seen is None else seen.text or None
    yield Claim(head, source, excerpt=text if text != head else None, rank=failure.rank)
    titles = {one.runs[0].place: one.title for one in facts.nodes}
    mine = {failure.run.place}
    if root.same:
        places = dict.fromkeys(one.run.place for one in order_by_time(root.same))
        names = fold_names(titles[place] for place in places if place not in mine)
        if names:
            yield Claim(f"the same cause on {names}", f"digests of {names}")
    same = frozenset(root.same)
    others = [one for one in _failures_of(facts) if one not in same and one.run.place not in mine]
    if others:
        first = order_by_time(others)[0]
        lead = describe_lead(first.at - failure.at, first.error_s + failure.error_s)
        is_loss = first.kind is FailureKind.LOST_PEER and not first.is_unexplained
        what = "lost a peer" if is_loss else f"failed ({first.cause})"
        title = titles[first.run.place]
        places = dict.fromkeys(one.run.place for one in others)
        more = (
            f"; {count_nodes_in_words(len(places) - 1, 'more')} followed" if len(places) > 1 else ""
        )
        yield Claim(f"{title} {what} {lead}{more}", f"digest of {title}", rank=first.rank)
    well = [one.title for one in facts.nodes if one.is_well]
    if well and not root.is_shared:
        yield Claim(f"no failure on {fold_names(well)}", f"digests of {fold_names(well)}")


def _list_doubts(facts: JobFacts, root: Root, node: JobNode) -> Iterator[str]:
    titles = {one.runs[0].place: one.title for one in facts.nodes}
    for one in root.rivals[:3]:
        title = titles[one.run.place]
        error_s = max(0.5, root.failure.error_s + one.error_s)
        yield (
            f"whether {root.failure.cause} on {node.title} or {one.cause} on {title} came first:"
            f" their times differ by less than {error_s:.1f} s, the error of the clocks"
        )
    silent = _find_earlier_silence(facts, root.failure)
    if silent:
        names = fold_names(one.title for one in silent)
        them = "it" if len(silent) == 1 else "them"
        yield f"whether {names} failed before: nothing was heard of {them} since"
    if facts.missing_count:
        yield f"the part of {count_nodes_in_words(facts.missing_count)} without a digest"


# -- refinements -----------------------------------------------------------------------------


def _name_stalled_ranks(facts: JobFacts, parts: JobVerdictParts) -> JobVerdictParts:
    """Return the verdict on a hang, or on a time limit of a job that hung, with the ranks named."""
    stall = facts.stall
    if stall is None:
        return parts
    titles = {facts.ranks[rank].title for rank in stall.ranks if rank in facts.ranks}
    culprits = tuple(node for node in facts.nodes if node.title in titles)
    is_one = len(culprits) == 1
    is_limit = parts.cause == "time_limit"
    end = ", until the time limit" if is_limit else ""
    at = f" on {culprits[0].title}" if is_one and facts.node_count > 1 else ""
    return replace(
        parts,
        headline=f"Hung{at}: {stall.text}{end}",
        cause="idle_hang",
        family="C3",
        fault_class="hang",
        attribution=Attribution.UNKNOWN,
        retry=Retry.SAME,
        confidence=_STALL if stall.is_certain else 0.6,
        run=culprits[0].main_run if is_one else None,
        rank=stall.ranks[0] if len(stall.ranks) == 1 else None,
        culprits=culprits,
        same=frozenset(),
        lost_ranks=stall.ranks,
        details={**parts.details, "hang_place": stall.place} if stall.place else parts.details,
        shows=(Claim(stall.text, f"{stall.source} of all nodes"), *parts.shows),
        implies="These ranks did not take part in what the others wait for.",
        cannot_decide=("why these ranks stand there, beyond their stacks",),
        do=(f"read the code at {stall.place}" if stall.place else "look at these ranks' stacks",),
    )


def _consider_node(facts: JobFacts, parts: JobVerdictParts) -> JobVerdictParts:
    """Return the verdict with the part of the node, where only one node has the cause."""
    if not parts.culprits:
        return parts
    title = parts.culprits[0].title
    match facts.fault:
        case NodeFault.NONE:
            return parts
        case NodeFault.NODE:
            return replace(
                parts,
                attribution=Attribution.INFRASTRUCTURE,
                retry=Retry.ELSEWHERE,
                confidence=min(parts.confidence, _NODE_FAULT),
                implies=f"Only {title} has this failure, and the other nodes got past that place:"
                f" the software of {title} differs from theirs.",
                do=(f"compare the environment of {title} with that of another node", *parts.do),
            )
        case NodeFault.FILES:
            return replace(
                parts,
                attribution=Attribution.UNKNOWN,
                confidence=min(parts.confidence, _FILE_FAULT),
                cannot_decide=(
                    f"whether {title} lacks what the others have, or its ranks need another file",
                    *parts.cannot_decide,
                ),
                do=(f"check that file on {title} and on another node", *parts.do),
            )
        case NodeFault.LOAD:
            return replace(
                parts,
                cannot_decide=(
                    f"whether another program on {title} took it, or its ranks need more",
                    *parts.cannot_decide,
                ),
            )
        case NodeFault.NOT_COMPARED:
            return replace(
                parts,
                cannot_decide=(
                    f"whether only {title} has this failure: the others were stopped before",
                    *parts.cannot_decide,
                ),
            )
