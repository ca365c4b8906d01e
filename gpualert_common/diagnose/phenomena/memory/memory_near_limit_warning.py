"""The memory of the run's cgroup, or of its host, is nearly used up.

Cached files, which fill every cgroup that reads much, count as free memory, since the kernel can
drop them.  GPU memory does not count: a caching allocator keeps a card full from the first steps
on, for weeks of normal training.
"""

from __future__ import annotations

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.detection import NOT_DETECTED, Detection
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.recent_series import is_fresh
from gpualert_common.diagnose.rule_text import format_size
from gpualert_common.model import Claim
from gpualert_common.telemetry.series import Series

DO = (
    "use fewer data loader workers, a smaller prefetch or cache, or give the job more memory",
    "if memory grows with each step, look for references: losses summed up without `.item()`?",
    "save a checkpoint before the kernel kills the run",
)
FOLLOWS: frozenset[str] = frozenset()
PREDICTS = frozenset(("oom_killer", "host_oom", "killed_unknown"))
_PLACES = (
    ("cgroup", "memory_left_bytes", "memory_left_of_bytes", "its cgroup"),
    ("host", "memory_available_bytes", "memory_total_bytes", "the host"),
)


def detect(evidence: Evidence) -> Detection | None:
    """Return whether almost nothing is left of either; None without samples."""
    is_sampled = False
    for of, left_name, whole_name, place in _PLACES:
        left = evidence.series(of, left_name)
        if not is_fresh(left, evidence.ended_at):
            continue
        is_sampled = True
        whole = evidence.series(of, whole_name).last
        least = min(thresholds.MEMORY_LEFT_GIB * 2**30, thresholds.MEMORY_LEFT_SHARE * whole)
        since = _below(left, least)
        if since is not None:
            shows = [
                Claim(
                    f"{format_size(int(left.last))} of {format_size(int(whole))} are left", "memory"
                )
            ]
            held = evidence.series("host:tree", "rss_bytes")
            if held:
                shows.append(
                    Claim(f"its processes hold {format_size(int(held.last))}", "processes")
                )
            return Detection(f"memory of {place} nearly used up", since, tuple(shows))
    return NOT_DETECTED if is_sampled else None


def _below(left: Series, least: float) -> float | None:
    """Return the time from which all samples are below a limit, for several samples in a row."""
    first = len(left.at)
    while first and left.value[first - 1] < least:
        first -= 1
    samples = len(left.at) - first
    return left.at[first] if samples >= thresholds.MEMORY_SAMPLES else None
