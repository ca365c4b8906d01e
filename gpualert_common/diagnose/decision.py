"""Decision: the cause from log and status, adjusted by the findings of all families.

Each finding has one effect on the cause, by the first row of :data:`EFFECTS` that fits it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from gpualert_common.causes import NO_CAUSES
from gpualert_common.classify.details import Scalar
from gpualert_common.classify.explanation import ExplainedFinding
from gpualert_common.classify.resolution import Resolution
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.model import Claim, EvidenceKind
from gpualert_common.structs import Struct, replace


class Effect(StrEnum):
    """Effect of a finding on the cause."""

    DECIDES = "names the cause"
    CONFIRMS = "confirms the cause"
    FOLLOWS = "is reported as another cause"
    DOUBTS = "lowers the confidence"
    RULES_OUT = "rules the family out"
    NONE = "has no effect on the cause"


class Decision(Struct, frozen=True):
    """The cause according to all evidence, and what is reported with it.

    ``family`` is that of the finding which names or confirms the cause; "" where none does.
    ``is_unattributed`` is True when the evidence does not show whose fault the cause is.
    """

    resolution: Resolution
    family: str = ""
    is_unattributed: bool = False
    claims: tuple[Claim, ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()
    cannot_decide: tuple[str, ...] = ()


class _State(Struct, frozen=True):
    """Facts on which the effect of a finding depends."""

    cause: str
    deciding: Finding | None
    families: frozenset[str]


EFFECTS: tuple[tuple[Effect, Callable[[Finding, _State], bool]], ...] = (
    (Effect.DECIDES, lambda one, state: one is state.deciding),
    (
        Effect.CONFIRMS,
        lambda one, state: one.weight >= Weight.SUPPORTS and one.cause == state.cause,
    ),
    (
        Effect.FOLLOWS,
        lambda one, _state: one.weight >= Weight.SUPPORTS and one.cause not in ("", *NO_CAUSES),
    ),
    (
        Effect.DOUBTS,
        lambda one, state: one.weight is Weight.DOUBTS and one.cause == state.cause,
    ),
    (
        Effect.RULES_OUT,
        lambda one, state: one.weight is Weight.RULED_OUT and one.family not in state.families,
    ),
    (Effect.NONE, lambda _one, _state: True),
)
"""Condition of each effect; the first that holds counts."""


def decide(resolution: Resolution, findings: Iterable[Finding]) -> Decision:
    """Return the cause of *resolution*, adjusted by *findings*.

    The finding with the most weight that may name the cause names it.  Findings of the same cause
    confirm it; replaced causes are reported as consequences.
    """
    ranked = sorted(findings, key=lambda one: (-one.weight, -one.confidence))
    deciding = next((one for one in ranked if _may_decide(one, resolution.cause)), None)
    decided = resolution if deciding is None else _name_cause(resolution, deciding)
    families = frozenset(
        one.family for one in ranked if one.weight >= Weight.SUPPORTS and one.cause == decided.cause
    )
    state = _State(decided.cause, deciding, families)
    effects = [(one, _effect_of(one, state)) for one in ranked]

    def having(*wanted: Effect) -> list[Finding]:
        return [one for one, effect in effects if effect in wanted]

    confirming, doubting = having(Effect.DECIDES, Effect.CONFIRMS), having(Effect.DOUBTS)
    decided = _with_findings(decided, confirming, doubting)
    return Decision(
        replace(
            decided,
            secondary=_secondary(decided, having(Effect.FOLLOWS)),
            ruled_out=(
                *(row for row in decided.ruled_out if row[0] not in families),
                *((one.family, one.because) for one in having(Effect.RULES_OUT)),
            ),
            explanation=replace(
                decided.explanation,
                findings=tuple(
                    ExplainedFinding(one.family, one.cause, one.because, effect)
                    for one, effect in effects
                ),
            ),
        ),
        family=confirming[0].family if confirming else "",
        is_unattributed=bool(doubting),
        claims=tuple(claim for one in confirming for claim in one.claims),
        warnings=tuple((one.kind, one.because) for one in ranked if one.kind and one != deciding),
        cannot_decide=tuple(
            dict.fromkeys(text for one in (*confirming, *doubting) for text in one.cannot_decide)
        ),
    )


def _may_decide(finding: Finding, cause: str) -> bool:
    named = "none" if cause in NO_CAUSES else cause  # an unknown end hides what a success does
    return finding.weight is Weight.DECIDES and not {cause, named}.isdisjoint(
        {*finding.over, finding.cause}
    )


def _effect_of(finding: Finding, state: _State) -> Effect:
    return next(effect for effect, fits in EFFECTS if fits(finding, state))


def _name_cause(resolution: Resolution, finding: Finding) -> Resolution:
    """Return *resolution* with the cause that *finding* names."""
    if resolution.cause == finding.cause:
        both = replace(resolution.explanation, evidence=EvidenceKind.SOURCES)
        confidence = max(resolution.confidence, finding.confidence)
        return replace(resolution, confidence=confidence, explanation=both)
    before = resolution.cause
    followed = () if before in NO_CAUSES else ((before, f"it followed: {finding.because}"),)
    return replace(
        resolution,
        cause=finding.cause,
        confidence=finding.confidence,
        details=dict(finding.details),
        evidence=(),
        secondary=(*followed, *resolution.secondary),
        explanation=replace(
            resolution.explanation,
            cause=finding.cause,
            decided_by="finding",
            evidence=EvidenceKind.MEASUREMENTS,
            because=f"family {finding.family}: {finding.because}",
        ),
    )


def _with_findings(
    resolution: Resolution, confirming: Sequence[Finding], doubting: Sequence[Finding]
) -> Resolution:
    details: dict[str, Scalar] = dict(resolution.details)
    for one in confirming:
        details |= {name: value for name, value in one.details.items() if name not in details}
        details |= one.corrections
    limits = [one.confidence for one in doubting] + [one.most_confidence for one in confirming]
    confidence = min([resolution.confidence, *limits])
    return replace(resolution, details=details, confidence=confidence)


def _secondary(resolution: Resolution, others: Sequence[Finding]) -> tuple[tuple[str, str], ...]:
    """Return all other causes, each with the reason of the finding with the most weight."""
    return tuple(
        (dict(resolution.secondary) | {one.cause: one.because for one in reversed(others)}).items()
    )
