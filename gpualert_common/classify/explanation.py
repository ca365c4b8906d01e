"""Explanation of a cause: the candidates, the rules that applied, and why each candidate lost."""

from __future__ import annotations

from gpualert_common.model import EvidenceKind
from gpualert_common.structs import Struct


class ExplainedCandidate(Struct, frozen=True):
    """A candidate, with the rule that chose or rejected it.

    ``tier`` and ``basis`` say how much it weighs and what it is read from.  ``chain_rule`` is the
    rule that found its exception in a chain of several.
    """

    cause: str
    tier: str
    basis: str
    file: str
    line: int
    text: str
    is_root: bool
    rule: str
    because: str
    chain_rule: str = ""


class AppliedRule(Struct, frozen=True):
    """A rule that changed something, in the order of application.

    ``rejected`` are the candidates that it took out, ``leading`` the one that it put first, by
    their numbers from 1 on.  With ``is_status`` it left the cause to the exit status.
    """

    rule: str
    because: str
    rejected: tuple[int, ...] = ()
    leading: int | None = None
    is_status: bool = False


class ExplainedFinding(Struct, frozen=True):
    """Conclusion of one family of failures from the evidence, and the effect on the cause."""

    family: str
    cause: str
    because: str
    effect: str


class Explanation(Struct, frozen=True):
    """Explanation: the steps in which the cause of a run's end was chosen.

    ``decided_by`` is "log", "exit status" or "finding"; ``because`` the reason for the cause, and
    ``evidence`` the kind of evidence for it.
    """

    cause: str
    decided_by: str
    because: str
    status: str
    evidence: EvidenceKind
    candidates: tuple[ExplainedCandidate, ...] = ()
    rules: tuple[AppliedRule, ...] = ()
    findings: tuple[ExplainedFinding, ...] = ()
