"""Report on a selection: why the root cause was chosen, and why each other candidate was not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from gpualert_common.classify.candidates import Candidate, Tier
from gpualert_common.classify.chain_root import Basis
from gpualert_common.classify.exit_status import ExitStatus
from gpualert_common.classify.explanation import AppliedRule, ExplainedCandidate, Explanation
from gpualert_common.classify.preferences import LAST_RESORT, MOST_IMPORTANT, Preference
from gpualert_common.classify.selection import RuleApplication, Selection
from gpualert_common.model import EvidenceKind

_TIERS = {
    Tier.CONFIRMED: "confirmed",
    Tier.SPECIFIC: "specific",
    Tier.GENERIC: "generic",
    Tier.COMMUNICATION: "communication",
    Tier.STATUS: "status",
    Tier.CASCADE: "cascade",
}
_BASES = {
    Basis.CONFIRMATION: "a line that confirms it",
    Basis.MESSAGE: "the message of an exception",
    Basis.TYPE: "the type of an exception",
    Basis.PLACE: "the place where an exception was raised",
    Basis.WORDING: "the wording of an exception",
    Basis.LINE: "a line of the log",
    Basis.CLOSING_LINE: "one of the closing lines",
    Basis.TOPIC: "the vocabulary of its words",
    Basis.LAST_WORDS: "the wording of one of the closing lines",
}
_OTHER_RANKS = "other ranks report this when one of them has failed"


def explain(
    cause: str,
    candidates: Sequence[Candidate],
    selection: Selection,
    status: ExitStatus,
    evidence: EvidenceKind,
) -> Explanation:
    """Return why *cause* is the root cause, and why each other of *candidates* is not."""
    chosen = selection.chosen
    every = [*candidates]
    if chosen is not None and not any(one is chosen for one in every):
        every.append(chosen)  # found in the closing lines
    numbers = {id(one): number for number, one in enumerate(every, 1)}
    explain_one = partial(_explain_candidate, selection, selection.find_rejections(), status)
    return Explanation(
        cause=cause,
        decided_by="exit status" if chosen is None else "log",
        because=_explain_choice(chosen, selection, status),
        status=status.claim,
        evidence=evidence,
        candidates=tuple(map(explain_one, every)),
        rules=tuple(_describe_application(step, numbers) for step in selection.steps),
    )


def reason_against(
    one: Candidate, selection: Selection, rejections: Mapping[int, RuleApplication]
) -> AppliedRule:
    """Return the rule that decided against a candidate, with its reason.

    *rejections* are those of the selection.
    """
    if step := rejections.get(id(one)):
        return AppliedRule(step.rule.name, step.rule.because)
    last = selection.steps[-1].rule
    if selection.chosen is None or last is LAST_RESORT:
        return AppliedRule(last.name, last.because)
    is_about_others = one.tier in (Tier.COMMUNICATION, Tier.CASCADE)
    if one.tier is selection.chosen.tier:
        because = "later than the cause"
    else:
        because = _OTHER_RANKS if is_about_others else "less specific than the cause"
    return AppliedRule(MOST_IMPORTANT.name, because)


def _explain_choice(chosen: Candidate | None, selection: Selection, status: ExitStatus) -> str:
    if chosen is None:
        return f"no candidate is left, and {status.claim}"
    rule = selection.steps[-1].rule
    if rule is MOST_IMPORTANT:
        rejected = selection.find_rejections()
        others = (one for one in selection.possible if one is not chosen)
        is_only = all(id(one) in rejected for one in others)
        rank = "the only candidate left" if is_only else "the most important of those left"
        return f"{rank}; {_TIERS[chosen.tier]}, by {_BASES[chosen.basis]}"
    return f"chosen by the rule '{rule.name}'; {_TIERS[chosen.tier]}, by {_BASES[chosen.basis]}"


def _explain_candidate(
    selection: Selection,
    rejections: Mapping[int, RuleApplication],
    status: ExitStatus,
    one: Candidate,
) -> ExplainedCandidate:
    is_root = one is selection.chosen
    if is_root:
        rule, because = selection.steps[-1].rule.name, _explain_choice(one, selection, status)
    else:
        against = reason_against(one, selection, rejections)
        rule, because = against.rule, against.because
    text = one.excerpt or ("" if one.traceback is None else one.traceback.text)
    return ExplainedCandidate(
        cause=one.cause,
        tier=_TIERS[one.tier],
        basis=_BASES[one.basis],
        file=one.file,
        line=one.place.line,
        text=text,
        is_root=is_root,
        rule=rule,
        because=because,
        chain_rule=one.chain_rule,
    )


def _describe_application(step: RuleApplication, numbers: dict[int, int]) -> AppliedRule:
    rejected = tuple(numbers[id(one)] for one in step.rejected)
    leading = None if step.leading is None else numbers.get(id(step.leading))
    is_status = isinstance(step.rule, Preference) and step.leading is None
    return AppliedRule(step.rule.name, step.rule.because, rejected, leading, is_status)
