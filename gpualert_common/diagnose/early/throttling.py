"""A GPU of the run is slowed down by heat, or by its power supply, for most of ten minutes.

By the counters of the driver, or where it has none by the bits of each look.  A power cap, idling
and clocks that somebody set are no faults, and a spell of a minute comes and goes.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.early._sign import FINE, Sign
from gpualert_common.diagnose.early._windows import is_fresh, last
from gpualert_common.diagnose.evidence import Evidence, number, seen
from gpualert_common.diagnose.families.throttling import COUNTERS, MOMENTS
from gpualert_common.model import Claim
from gpualert_common.telemetry.series import Series

DO = (
    "look at the machine's GPUs: `nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER`",
    "tell whoever runs the machine: its cooling or its power supply needs a look",
    "a training on several GPUs runs at the pace of its slowest: move it, if it has long to go",
)
FOLLOWS: frozenset[str] = frozenset()
FORETELLS = frozenset(("throttling", "straggler"))


def judge(evidence: Evidence) -> Sign | None:
    """The GPU that is slowed down the most; None where no GPU of the run says anything of it."""
    found = [
        (share, reason, gpu, since)
        for gpu in evidence.gpus
        for share, reason, since in _shares(evidence, gpu)
    ]
    if not found:
        return None
    share, reason, gpu, since = max(found)
    if share < thresholds.THROTTLED_SHARE:
        return FINE
    says = f"GPU {number(gpu)} slowed down by {reason}"
    minutes = thresholds.THROTTLE_WINDOW_S / 60
    shown = f"it was slowed down for {min(1.0, share):.0%} of the last {minutes:.0f} minutes"
    return Sign(says, since, (seen(shown, "nvml"), *_temperature(evidence, gpu)))


def _shares(evidence: Evidence, gpu: str) -> Iterator[tuple[float, str, float]]:
    """For how much of the window it was slowed down, by what, and when that began."""
    counted = [(evidence.series(gpu, name), reason) for name, reason in COUNTERS.items()]
    for series, reason in counted:
        window = last(series, evidence.ended_at, thresholds.THROTTLE_WINDOW_S)
        if window:
            risen_s = (window.value[-1] - window.value[0]) / 1e9
            yield risen_s / (window.at[-1] - window.at[0]), reason, _rose_at(window)
    if any(series for series, _reason in counted):
        return
    for name, reason in MOMENTS.items():
        window = last(evidence.series(gpu, name), evidence.ended_at, thresholds.THROTTLE_WINDOW_S)
        if window:
            yield sum(window.value) / len(window.value), reason, _rose_at(window, above=0.0)


def _rose_at(window: Series, above: float | None = None) -> float:
    """When a counter first rose in a window, or a moment first told of it."""
    level = window.value[0] if above is None else above
    rows = zip(window.at, window.value, strict=True)
    return next((at for at, value in rows if value > level), window.at[0])


def _temperature(evidence: Evidence, gpu: str) -> Iterator[Claim]:
    series = evidence.series(gpu, "temperature_celsius")
    if is_fresh(series, evidence.ended_at):
        yield seen(f"it is at {series.last:.0f} degrees Celsius", "nvml")
