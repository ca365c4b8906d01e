"""The steps of the training take longer than at its beginning, or than in earlier runs.

Only checked where the run has `on_slowdown` set.  The time of a step is measured by the clock, in
windows of some steps and some seconds.  The warning is raised when each of the latest windows was
slow, against the median of the first ones and every one of them, or against the usual time in
earlier runs of the command on the same GPUs; the history has that by the clock only where the log
reports no time of a step.  A checkpoint or an evaluation between two steps
makes one window slow, and raises no warning.  Lines that are printed too rarely show no pace.
"""

from __future__ import annotations

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.detection import NOT_DETECTED, Detection
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.regression import Comparison, format_seconds
from gpualert_common.median import median
from gpualert_common.model import Claim

DO = (
    "see where its time goes: `gpualert profile RUN`, or `gpualert trace RUN` for PyTorch",
    "compare the ranks: one that is slower than the others delays all of them",
    "a slow disk, a hot GPU and another job on the machine are in the evidence: `gpualert show`",
)
FOLLOWS = frozenset(("disk_filling", "memory_near_limit", "throttling", "xid"))
PREDICTS = frozenset(
    ("save_storm", "slow_interconnect", "straggler", "throttling", "under_utilization")
)


def detect(evidence: Evidence) -> Detection | None:
    """Return whether all of the latest windows were slow; None where the pace is not known."""
    paces = evidence.observations.paces
    if paces is None:
        return None
    step_s = min(paces.recent)
    usual_s = median(paces.early)
    if step_s > max(paces.early) and step_s >= thresholds.SLOWER_THAN_BEFORE * usual_s:
        return _describe("at its beginning", step_s, usual_s, "log")
    has_history = bool(evidence.observations.earlier) and not paces.is_reported
    usual = Comparison(evidence).usual if has_history else None
    times = None if usual is None else usual.step_time_s
    if (
        times is not None
        and step_s > times.high
        and step_s >= thresholds.SLOWER_THAN_BEFORE * times.median
    ):
        return _describe("in earlier runs", step_s, times.median, "history")
    return NOT_DETECTED


def _describe(before: str, step_s: float, usual_s: float, source: str) -> Detection:
    times = f"a step takes {format_seconds(step_s)}; {before} it took {format_seconds(usual_s)}"
    return Detection(f"steps slower than {before}", shows=(Claim(times, source),))
