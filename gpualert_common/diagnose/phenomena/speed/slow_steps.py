"""The reason why steps became slow, by the profile or the trace that was taken then.

A trace that shows a rank for which the others wait in collectives names the straggler, if the
steps were slow up to the end.  A profile
in which one rank alone spends more of its time outside collectives at one place suggests it, since
one rank may also have more to do by design.  Neither shows whether the machine of the rank or its
own work is slower, so that nobody is blamed.  What else a capture shows is reported as a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.diagnose.evidence import Capture, Evidence
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.model import Claim

FAMILY = "D3"
_KIND = "slow_steps"
_BY_TRACE, _BY_PROFILE = 0.8, 0.6
"""Confidences: a trace has the waits of all ranks; a profile has shares of their time."""


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield what each capture shows."""
    for capture in evidence.observations.captures:
        because = f"{capture.reason}: {capture.text}"
        if capture.late_rank is None:
            yield Finding(FAMILY, Weight.WARNS, because, kind=_KIND)
            continue
        yield Finding(
            FAMILY,
            _weigh(evidence, capture),
            because,
            cause="straggler",
            confidence=_BY_TRACE if capture.source == "trace" else _BY_PROFILE,
            over=frozenset(("none",)),
            kind=_KIND,
            claims=(Claim(because, capture.source, rank=capture.late_rank),),
            details={"rank": capture.late_rank, "finding": _capitalize(capture.text)},
        )


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _weigh(evidence: Evidence, capture: Capture) -> Weight:
    if not evidence.is_completed:
        return Weight.WARNS
    is_sure = capture.source == "trace" and capture.is_lasting
    return Weight.DECIDES if is_sure else Weight.SUPPORTS
