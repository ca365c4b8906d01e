"""Heat or its power supply slows down a GPU of the run, for most of ten minutes.

The rule uses the driver's counters or, if there are none, the flags of each sample.  A power cap,
an idle GPU and clocks that an administrator set are not faults, and a minute of slowdown is normal.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.detection import NOT_DETECTED, Detection
from gpualert_common.diagnose.evidence import Evidence, parse_index
from gpualert_common.diagnose.phenomena.clocks._slowdowns import COUNTERS, FLAGS
from gpualert_common.diagnose.recent_series import is_fresh, recent
from gpualert_common.model import Claim
from gpualert_common.telemetry.series import Series

DO = (
    "check the machine's GPUs: `nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER`",
    "ask the administrators of the machine to check its cooling and its power supply",
    "a training on several GPUs runs at the speed of its slowest: move it if it has long to run",
)
FOLLOWS: frozenset[str] = frozenset()
PREDICTS = frozenset(("throttling", "straggler"))


def detect(evidence: Evidence) -> Detection | None:
    """Return the GPU that is slowed down the most; None where no GPU of the run has samples."""
    found = [
        (share, reason, gpu, since)
        for gpu in evidence.gpus
        for share, reason, since in _shares(evidence, gpu)
    ]
    if not found:
        return None
    share, reason, gpu, since = max(found)
    if share < thresholds.THROTTLED_SHARE:
        return NOT_DETECTED
    summary = f"GPU {parse_index(gpu)} slowed down by {reason}"
    minutes = thresholds.THROTTLE_WINDOW_S / 60
    shown = f"it was slowed down for {min(1.0, share):.0%} of the last {minutes:.0f} minutes"
    return Detection(summary, since, (Claim(shown, "nvml"), *_temperature(evidence, gpu)))


def _shares(evidence: Evidence, gpu: str) -> Iterator[tuple[float, str, float]]:
    """Yield the slowed share of the window, its reason, and the time at which that began."""
    counted = [(evidence.series(gpu, name), reason) for name, reason in COUNTERS.items()]
    for series, reason in counted:
        window = recent(series, evidence.ended_at, thresholds.THROTTLE_WINDOW_S)
        if window:
            risen_s = (window.value[-1] - window.value[0]) / 1e9
            yield risen_s / (window.at[-1] - window.at[0]), reason, _rose_at(window)
    if any(series for series, _reason in counted):
        return
    for name, reason in FLAGS.items():
        flags = evidence.series(gpu, name)
        window = recent(flags, evidence.ended_at, thresholds.THROTTLE_WINDOW_S)
        if window:
            yield sum(window.value) / len(window.value), reason, _rose_at(window, above=0.0)


def _rose_at(window: Series, above: float | None = None) -> float:
    """Return when a counter first rose in a window, or a flag was first set."""
    level = window.value[0] if above is None else above
    rows = zip(window.at, window.value, strict=True)
    return next((at for at, value in rows if value > level), window.at[0])


def _temperature(evidence: Evidence, gpu: str) -> Iterator[Claim]:
    series = evidence.series(gpu, "temperature_celsius")
    if is_fresh(series, evidence.ended_at):
        yield Claim(f"it is at {series.last:.0f} degrees Celsius", "nvml")
