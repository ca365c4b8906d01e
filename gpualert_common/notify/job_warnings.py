"""Warnings about a run of a job: one node sends each kind, the others retire theirs."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable

from gpualert_common.errors import GPUAlertError
from gpualert_common.notify.entry import EntryState, OutboxEntry
from gpualert_common.notify.isolation import NoAnswerError, run_isolated
from gpualert_common.notify.job_part import read_part
from gpualert_common.record import Record

_CLAIM_S = 30.0
"""Limit for the claim of a warning; after it, the run sends its own."""


def retire_warnings(record: Record, entries: Iterable[OutboxEntry]) -> None:
    """Retire the warnings that another node of the job sends; without a job directory none.

    A job directory that cannot be reached costs a warning too many, never one too few.
    """
    if read_part(record) is None:
        return
    pending = [entry for entry in entries if entry.state is EntryState.PENDING]
    for about in dict.fromkeys(entry.about for entry in pending):
        claim = functools.partial(_claim, record, about)
        try:
            owner = run_isolated(claim, _CLAIM_S)
        except (GPUAlertError, NoAnswerError, OSError):
            continue
        because = f"the warning of the job is sent by {owner}"
        for entry in pending:
            if owner and entry.about == about:
                entry.change((EntryState.PENDING,), state=EntryState.SUPERSEDED, because=because)


def _claim(record: Record, about: str) -> str:
    from gpualert_common.jobs.alerts.warning_claims import claim_warning
    from gpualert_common.jobs.digests.digest_collection import DigestCollector, Renewal
    from gpualert_common.jobs.reading.opening import open_job_directory
    from gpualert_common.jobs.renewal.renewal_state import read_state

    own = DigestCollector(record).collect(Renewal(clock=read_state(record).clock))
    return claim_warning(open_job_directory(record), own, about, time.time())
