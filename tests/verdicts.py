"""Verdicts for tests that need one of any origin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpualert_common.model import Attribution, Disposition, Retry, Verdict

UNKNOWN = Verdict(
    run_id=None,
    attempt=1,
    host=None,
    log_path=None,
    exit_code=None,
    signal=None,
    disposition=Disposition.UNKNOWN,
    family=None,
    cause="unknown",
    fault_class=None,
    paper_class=None,
    attribution=Attribution.UNKNOWN,
    confidence=0.0,
    retry=Retry.SAME,
    headline="The cause is unknown",
)


def verdict_with(**fields: Any) -> Verdict:
    """Return a verdict with these fields; the others are unknown."""
    return replace(UNKNOWN, **fields)
