"""The report of a run: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.model import Verdict
from gpualert_common.record import Record
from gpualert_common.report.run_facts import Fact
from gpualert_common.report.text_sanitizer import Masks

MOST_BYTES = 1_000_000


def render_report(
    record: Record,
    verdict: Verdict | None,
    *,
    masks: Masks,
    facts: Sequence[Fact] = (),
    refresh_s: int | None = None,
) -> str:
    """Return the report, in at most :data:`MOST_BYTES` of UTF-8.

    ``facts`` are those about the state of a run in progress, not yet masked.
    """
    raise NotImplementedError
