"""State of the job of a run, as the newest event of the source slurm has it."""

from __future__ import annotations

from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.telemetry.series import TelemetryEvent
from gpualert_common.telemetry.slurm_events import JOB

SOURCE = "slurm"
_MOST_CHARS = 200


def find_job(evidence: Evidence) -> TelemetryEvent | None:
    """Return the newest event about the job; None where Slurm was not asked, or did not know it."""
    found = [one for one in evidence.telemetry.find_events(JOB) if one.source == SOURCE]
    return found[-1] if found else None


def read_text(event: TelemetryEvent, name: str) -> str:
    """Return a field as text; empty if it is missing, or no text."""
    value = event.fields.get(name)
    return value[:_MOST_CHARS] if isinstance(value, str) else ""


def is_by_slurm(evidence: Evidence) -> bool:
    """Return whether a program of Slurm sent the signal that stopped the run."""
    sender = evidence.facts.sender or {}
    return evidence.facts.signal is not None and "slurm" in (sender.get("command") or "")
