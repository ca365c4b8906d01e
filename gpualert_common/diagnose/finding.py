"""What a family finds in the evidence, and what is made of all that is found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

from gpualert_common.classify.resolution import Resolution
from gpualert_common.model import Claim


class Weight(IntEnum):
    """How much a finding says."""

    RULED_OUT = 0
    """The evidence speaks against the family."""
    DOUBTS = 1
    """What would have shown another cause behind ``cause`` could not be seen."""
    WARNS = 2
    """Worth knowing, and not why the run ended as it did."""
    SUPPORTS = 3
    """It agrees with a cause that something else names, or is one that nothing else denies."""
    DECIDES = 4
    """It names the cause, over all of ``over``."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one family says of a run, with its grounds.

    ``because`` is a sentence without its full stop, for people.  ``over`` are the causes, as log
    and status name them, that give way to this one.  ``kind`` names a warning.
    """

    family: str
    weight: Weight
    because: str
    cause: str = ""
    confidence: float = 0.0
    over: frozenset[str] = frozenset()
    kind: str = ""
    claims: tuple[Claim, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    cannot_decide: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """The cause in the light of everything, and what is told beside it.

    ``family`` is that of the finding which names or confirms the cause; "" where none does.  With
    ``anybodys`` it is not known whose fault the cause is.
    """

    resolution: Resolution
    family: str = ""
    anybodys: bool = False
    claims: tuple[Claim, ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()
    cannot_decide: tuple[str, ...] = ()


def decide(resolution: Resolution, findings: Iterable[Finding]) -> Decision:
    """What log and status say, in the light of what the families find.

    The weightiest finding that may names the cause; those that name the same confirm it, and what
    gave way is told as what followed.
    """
    found = sorted(findings, key=lambda one: (-one.weight, -one.confidence))
    deciding = [
        one
        for one in found
        if one.weight is Weight.DECIDES and resolution.cause in {*one.over, one.cause}
    ]
    decided = _decided(resolution, deciding[0]) if deciding else resolution
    same = [one for one in found if one.weight >= Weight.SUPPORTS and one.cause == decided.cause]
    others = [one for one in found if one.weight >= Weight.SUPPORTS and one not in same]
    doubts = [one for one in found if one.weight is Weight.DOUBTS and one.cause == decided.cause]
    if doubts:
        least = min(decided.confidence, *(one.confidence for one in doubts))
        decided = replace(decided, confidence=least)
    families = {one.family for one in same}
    warned = [one for one in found if one.kind and one not in deciding[:1]]
    ruled_out = [
        (one.family, one.because)
        for one in found
        if one.weight is Weight.RULED_OUT and one.family not in families
    ]
    secondary = dict(decided.secondary) | {
        one.cause: one.because for one in reversed(others) if one.cause not in ("", "none")
    }
    details = dict(decided.details)
    for one in same:
        details |= {name: value for name, value in one.details.items() if name not in details}
    return Decision(
        replace(
            decided,
            details=details,
            secondary=tuple(secondary.items()),
            ruled_out=(*(one for one in decided.ruled_out if one[0] not in families), *ruled_out),
        ),
        family=same[0].family if same else "",
        anybodys=bool(doubts),
        claims=tuple(claim for one in same for claim in one.claims),
        warnings=tuple((one.kind, one.because) for one in warned),
        cannot_decide=tuple(
            dict.fromkeys(text for one in (*same, *doubts) for text in one.cannot_decide)
        ),
    )


def _decided(resolution: Resolution, finding: Finding) -> Resolution:
    if resolution.cause == finding.cause:
        return replace(resolution, confidence=max(resolution.confidence, finding.confidence))
    followed = {resolution.cause: f"it followed: {finding.because}"}
    followed.pop("none", None)
    return replace(
        resolution,
        cause=finding.cause,
        confidence=finding.confidence,
        details=dict(finding.details),
        evidence=(),
        secondary=(*followed.items(), *resolution.secondary),
    )
