"""A native crash while PyTorch recorded or wrote a trace of the run.

PyTorch may crash in a process that exits meanwhile (docs/traces.md).  The evidence does not show
whether it did, or the program: the cause stays, and it is not attributed.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.finding import Finding, Weight

FAMILY = "A2"
_CAUSE = "segfault"
_CONFIDENCE = 0.5
_UNKNOWN = (
    "whether the program crashed by itself, or PyTorch, which may crash in a process that exits "
    "while its trace is written"
)


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the doubt about a crash at whose time a trace was being taken."""
    if evidence.resolution.cause != _CAUSE or not evidence.observations.is_traced:
        return
    because = "a trace of the run was being taken when it crashed"
    yield Finding(
        FAMILY,
        Weight.DOUBTS,
        because,
        cause=_CAUSE,
        confidence=_CONFIDENCE,
        kind="crash_in_trace",
        cannot_decide=(_UNKNOWN,),
    )
