"""Text of an explanation: how the cause of a verdict was chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpualert_common.classify.explanation import AppliedRule, ExplainedCandidate, Explanation
from gpualert_common.report.wording import describe_family

_TEXT_CHARS = 160


def explanation_lines(found: Explanation, clean: Callable[[str], str]) -> Iterator[str]:
    """Yield the lines of an explanation; *clean* makes texts of the log fit to print."""
    yield f"Cause: {found.cause}, decided by the {found.decided_by} ({clean(found.because)})"
    yield f"Evidence: {found.evidence}"
    yield f"Exit status: {clean(found.status)}"
    yield "Candidates:" if found.candidates else "Candidates: none"
    for number, one in enumerate(found.candidates, 1):
        yield from _candidate(number, one, clean)
    yield "Rules that applied, in their order:" if found.rules else "Rules that applied: none"
    for number, rule in enumerate(found.rules, 1):
        yield f"  {number}. {rule.rule}: {_effect(rule)}"
    if found.findings:
        yield "Findings:"
    for finding in found.findings:
        about = ", ".join(filter(None, (describe_family(finding.family), finding.cause)))
        yield f"  {about}: {clean(finding.because)} ({finding.effect})"


def _candidate(number: int, one: ExplainedCandidate, clean: Callable[[str], str]) -> Iterator[str]:
    mark = "*" if one.is_root else " "
    place = clean(f"{one.file} line {one.line}")
    yield f"{mark} {number}. {one.cause} ({one.tier}, by {one.basis}) [{place}]"
    text = clean(" ".join(one.text.split()))
    if text:
        yield f"     > {text if len(text) <= _TEXT_CHARS else text[: _TEXT_CHARS - 1] + '…'}"
    if one.chain_rule:
        yield f"     exception of its chain by: {one.chain_rule}"
    yield f"     {'chosen' if one.is_root else 'rejected'} by '{one.rule}': {clean(one.because)}"


def _effect(rule: AppliedRule) -> str:
    parts = []
    if rule.rejected:
        parts.append("rejects " + ", ".join(map(str, rule.rejected)))
    if rule.leading is not None:
        parts.append(f"{rule.leading} leads")
    if rule.is_status:
        parts.append("the exit status decides")
    return "; ".join(parts)
