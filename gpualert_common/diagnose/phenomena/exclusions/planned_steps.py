"""Evidence against a training that was cut short: it made its planned number of steps.

The number of planned steps stands in the log.  A run in progress has not made them yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.finding import Finding, Weight

FAMILY = "E3"


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the steps of a run that made all of them."""
    if evidence.progress is None or evidence.is_running:
        return
    counts = evidence.progress.counts
    if counts.total_steps and (counts.last_step or 0) >= counts.total_steps:
        text = f"it reached step {counts.last_step} of {counts.total_steps}"
        yield Finding(FAMILY, Weight.RULED_OUT, text)
