"""The memory of the run's cgroup, or of its host, is nearly used up.

What counts is what the kernel could not give back: cached files, which fill every cgroup that reads
much, are free memory.  GPU memory is none of it: an allocator that keeps what it once had leaves a
card full from the first steps on, and trains for weeks like that.
"""

from __future__ import annotations

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.early._sign import FINE, Sign
from gpualert_common.diagnose.early._windows import is_fresh
from gpualert_common.diagnose.evidence import Evidence, seen
from gpualert_common.diagnose.words import size
from gpualert_common.telemetry.series import Series

DO = (
    "use fewer data loader workers, a smaller prefetch or cache, or give the job more memory",
    "memory that grows with each step is kept by somebody: losses summed up without `.item()`?",
    "have it save a checkpoint before the kernel kills it",
)
FOLLOWS: frozenset[str] = frozenset()
FORETELLS = frozenset(("oom_killer", "host_oom", "killed_unknown"))
_PLACES = (
    ("cgroup", "memory_left_bytes", "memory_left_of_bytes", "its cgroup"),
    ("host", "memory_available_bytes", "memory_total_bytes", "the host"),
)


def judge(evidence: Evidence) -> Sign | None:
    """Whether next to nothing is left of either; None where nobody looked."""
    looked = False
    for of, left_name, whole_name, place in _PLACES:
        left = evidence.series(of, left_name)
        if not is_fresh(left, evidence.ended_at):
            continue
        looked = True
        whole = evidence.series(of, whole_name).last
        least = min(thresholds.MEMORY_LEFT_GIB * 2**30, thresholds.MEMORY_LEFT_SHARE * whole)
        since = _below(left, least)
        if since is not None:
            shows = [seen(f"{size(int(left.last))} of {size(int(whole))} are left", "memory")]
            held = evidence.series("host:tree", "rss_bytes")
            if held:
                shows.append(seen(f"its processes hold {size(int(held.last))}", "processes"))
            return Sign(f"memory of {place} nearly used up", since, tuple(shows))
    return FINE if looked else None


def _below(left: Series, least: float) -> float | None:
    """Since when it has been below that at each look, where that were several."""
    first = len(left.at)
    while first and left.value[first - 1] < least:
        first -= 1
    looks = len(left.at) - first
    return left.at[first] if looks >= thresholds.MEMORY_LOOKS else None
