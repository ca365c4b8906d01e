"""The disk of the log, or of the working directory, is full or will be soon.

By trend: it lost space all through the last three minutes, and at that rate will be full within
half an hour; one checkpoint that is written meanwhile is no trend.  Or since next to nothing is
left of it.  A share of its size alone says nothing: of a large one a hundredth is plenty.
"""

from __future__ import annotations

from itertools import pairwise

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.early._sign import FINE, Sign
from gpualert_common.diagnose.early._windows import is_fresh, last
from gpualert_common.diagnose.evidence import Evidence, seen
from gpualert_common.diagnose.words import size
from gpualert_common.telemetry.series import Series

DO = (
    "make room on that disk: old checkpoints, caches, logs of other runs",
    "have the training keep fewer checkpoints, or write them elsewhere",
    "whatever writes when the disk is full fails: mostly the next checkpoint",
)
FOLLOWS: frozenset[str] = frozenset()
FORETELLS = frozenset(("disk_full", "filesystem_io"))
_DISKS = ("disk:log", "disk:cwd")
_PARTS = 3


def judge(evidence: Evidence) -> Sign | None:
    """The first of its disks that fills up; None where no disk could be asked."""
    now = evidence.ended_at
    seen_now = [of for of in _DISKS if is_fresh(evidence.series(of, "free_bytes"), now)]
    for of in seen_now:
        sign = _near_full(evidence, of) or _by_trend(evidence, of)
        if sign is not None:
            return sign
    return FINE if seen_now else None


def _near_full(evidence: Evidence, of: str) -> Sign | None:
    free, whole = evidence.series(of, "free_bytes"), evidence.series(of, "size_bytes").last
    least = min(thresholds.DISK_LEFT_GIB * 2**30, thresholds.DISK_LEFT_SHARE * whole)
    if free.last >= least:
        return None
    shown = f"{size(int(free.last))} of {size(int(whole))} are left"
    return Sign(f"the disk of {_path(evidence, of)} full", free.at[-1], (seen(shown, "disk"),))


def _by_trend(evidence: Evidence, of: str) -> Sign | None:
    window = last(evidence.series(of, "free_bytes"), evidence.ended_at, thresholds.DISK_TREND_S)
    lost_s = _full_in_s(window)
    if lost_s is None or lost_s > thresholds.DISK_FULL_WITHIN_S:
        return None
    lost = window.value[0] - window.value[-1]
    minutes = (window.at[-1] - window.at[0]) / 60
    shows = (
        seen(f"it lost {size(int(lost))} in {minutes:.0f} minutes, steadily", "disk"),
        seen(f"{size(int(window.last))} are left: full in {lost_s / 60:.0f} minutes", "disk"),
    )
    return Sign(f"the disk of {_path(evidence, of)} filling up", window.at[0], shows)


def _full_in_s(free: Series) -> float | None:
    """When nothing will be left, if it goes on like that; None where it does not fall steadily."""
    looks = len(free.at)
    if looks <= _PARTS:
        return None
    edges = [free.value[part * (looks - 1) // _PARTS] for part in range(_PARTS + 1)]
    lost = edges[0] - edges[-1]
    falls = [before - after for before, after in pairwise(edges)]
    if lost <= 0 or min(falls) < thresholds.DISK_STEADY * lost / _PARTS:
        return None
    return float(edges[-1] * (free.at[-1] - free.at[0]) / lost)


def _path(evidence: Evidence, of: str) -> str:
    facts = evidence.facts_of("disk").get(of)
    return str(facts.get("path", of)) if isinstance(facts, dict) else of
