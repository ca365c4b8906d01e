"""The disk of the log, or of the working directory, is full or will be soon.

Either almost no space is left on it, or its trend shows it: it lost space throughout the last three
minutes, and at that rate is full within half an hour.  One checkpoint written in that time is not a
trend.  A share of the size alone is no criterion: one per cent of a large disk is plenty.
"""

from __future__ import annotations

from itertools import pairwise

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.detection import NOT_DETECTED, Detection
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.recent_series import is_fresh, recent
from gpualert_common.diagnose.rule_text import format_size
from gpualert_common.model import Claim
from gpualert_common.telemetry.series import Series

DO = (
    "free space on that disk: old checkpoints, caches, logs of other runs",
    "configure the training to keep fewer checkpoints, or to write them to another disk",
    "when the disk is full, writes fail: usually that of the next checkpoint",
)
FOLLOWS: frozenset[str] = frozenset()
PREDICTS = frozenset(("disk_full", "filesystem_io"))
_DISKS = ("disk:log", "disk:cwd")
_PARTS = 3


def detect(evidence: Evidence) -> Detection | None:
    """Return the first disk that fills up; None where the space of no disk is known."""
    now = evidence.ended_at
    sampled = [of for of in _DISKS if is_fresh(evidence.series(of, "free_bytes"), now)]
    for of in sampled:
        found = _near_full(evidence, of) or _by_trend(evidence, of)
        if found is not None:
            return found
    return NOT_DETECTED if sampled else None


def _near_full(evidence: Evidence, of: str) -> Detection | None:
    free, whole = evidence.series(of, "free_bytes"), evidence.series(of, "size_bytes").last
    least = min(thresholds.DISK_LEFT_GIB * 2**30, thresholds.DISK_LEFT_SHARE * whole)
    if free.last >= least:
        return None
    shown = f"{format_size(int(free.last))} of {format_size(int(whole))} are left"
    return Detection(
        f"the disk of {_path(evidence, of)} full", free.at[-1], (Claim(shown, "disk"),)
    )


def _by_trend(evidence: Evidence, of: str) -> Detection | None:
    window = recent(evidence.series(of, "free_bytes"), evidence.ended_at, thresholds.DISK_TREND_S)
    lost_s = _full_in_s(window)
    if lost_s is None or lost_s > thresholds.DISK_FULL_WITHIN_S:
        return None
    lost = window.value[0] - window.value[-1]
    minutes = (window.at[-1] - window.at[0]) / 60
    shows = (
        Claim(f"it lost {format_size(int(lost))} in {minutes:.0f} minutes, steadily", "disk"),
        Claim(
            f"{format_size(int(window.last))} are left: full in {lost_s / 60:.0f} minutes", "disk"
        ),
    )
    return Detection(f"the disk of {_path(evidence, of)} filling up", window.at[0], shows)


def _full_in_s(free: Series) -> float | None:
    """Return in how many seconds the disk is full at this rate; None without a steady fall."""
    samples = len(free.at)
    if samples <= _PARTS:
        return None
    edges = [free.value[part * (samples - 1) // _PARTS] for part in range(_PARTS + 1)]
    lost = edges[0] - edges[-1]
    falls = [before - after for before, after in pairwise(edges)]
    if lost <= 0 or min(falls) < thresholds.DISK_STEADY * lost / _PARTS:
        return None
    return float(edges[-1] * (free.at[-1] - free.at[0]) / lost)


def _path(evidence: Evidence, of: str) -> str:
    facts = evidence.get_facts("disk").get(of)
    return str(facts.get("path", of)) if isinstance(facts, dict) else of
