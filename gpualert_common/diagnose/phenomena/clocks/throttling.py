"""Throttling: a GPU that ran below its clocks because of heat or power.

Cumulative counters give the time of slowdown, also between samples; on cards without counters the
flags of each sample are used.  A power cap, an idle GPU and clocks that an administrator set are no
faults.  Throttling is a finding if the GPU was slowed down for most of one window of the run.  It
is the cause of a run that succeeded slowly only if the clock also fell and, in less than ten
minutes, the steps took longer from then on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence, parse_index
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.phenomena.clocks._slowdowns import COUNTERS, FLAGS
from gpualert_common.median import median
from gpualert_common.model import Claim
from gpualert_common.telemetry.series import Series

FAMILY = "B3"
_CAUSE = "throttling"


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the GPU of the run that was slowed down the most, if that is significant."""
    found = [(*_worst(evidence, gpu), gpu) for gpu in evidence.gpus]
    if not found:
        return
    spell, reason, gpu = max(found)
    if spell.share < thresholds.THROTTLED_SHARE:
        if evidence.is_completed and any(
            evidence.series(one, "sm_clock_mhz") for one in evidence.gpus
        ):
            yield Finding(FAMILY, Weight.RULED_OUT, "none of its GPUs was slowed down for long")
        return
    because = (
        f"GPU {parse_index(gpu)} was slowed down by {reason} for {spell.share:.0%} of "
        f"{_format_window(spell)}"
    )
    left = _clock_left(evidence.series(gpu, "sm_clock_mhz"), spell)
    claims = [Claim(because, "nvml")]
    if left < thresholds.CLOCK_DROP:
        claims.append(Claim(f"its clock fell to {left:.0%} of what it had been", "nvml"))
    percent = round(100 * spell.share)
    slower = _steps_slower(evidence.observations.step_times, spell)
    if slower >= thresholds.THROTTLED_STEP:
        claims.append(Claim(f"a step took {slower:.1f} times as long as before", "progress"))
    is_significant = spell.is_long or slower >= thresholds.THROTTLED_STEP
    decides = evidence.is_completed and left < thresholds.CLOCK_DROP and is_significant
    yield Finding(
        FAMILY,
        Weight.DECIDES if decides else Weight.WARNS,
        because,
        cause=_CAUSE if decides else "",
        confidence=0.85,
        over=frozenset(("none",)),
        kind="throttling",
        claims=tuple(claims),
        details={"gpu": int(parse_index(gpu)), "reason": reason, "share_percent": percent},
    )


class _Window(NamedTuple):
    """Part of the run: the share of it that was slowed down, and since when it was."""

    share: float
    began_at: float
    slowed_from: float
    ended_at: float

    @property
    def length_s(self) -> float:
        return self.ended_at - self.began_at


class Spell(NamedTuple):
    """The slowed share of the longest window with much slowdown, and the time of all such windows.

    Without such a window it is the largest share of any.
    """

    share: float
    window_s: float = 0.0
    began_at: float = 0.0
    ended_at: float = 0.0

    @property
    def is_long(self) -> bool:
        """True for the slowdown of a whole window, but for the time between two samples."""
        return self.window_s > thresholds.THROTTLE_WINDOW_S - thresholds.SAMPLE_DELAY_S

    @classmethod
    def of(cls, windows: Iterable[_Window]) -> Spell:
        """Return the spell of windows in the order of their ends."""
        every = list(windows)
        much = [one for one in every if one.share >= thresholds.THROTTLED_SHARE]
        if not much:
            return cls(max((one.share for one in every), default=0.0))
        longest_s = max(one.length_s for one in much) - thresholds.SAMPLE_DELAY_S
        worst = max(one for one in much if one.length_s >= longest_s)
        return cls(worst.share, worst.length_s, much[0].slowed_from, much[-1].ended_at)


def _format_window(spell: Spell) -> str:
    return "ten minutes" if spell.is_long else f"{spell.window_s:.0f} s"


def _worst(evidence: Evidence, gpu: str) -> tuple[Spell, str]:
    """Return the spell in which a GPU was slowed down the most, and the reason."""
    if any(evidence.series(gpu, name) for name in COUNTERS):
        counted = {name: evidence.series(gpu, name) for name in COUNTERS}
        return max((Spell.of(_by_counter(one)), COUNTERS[name]) for name, one in counted.items())
    moments = {name: evidence.series(gpu, name) for name in FLAGS}
    return max((Spell.of(_by_flags(one)), FLAGS[name]) for name, one in moments.items())


def _by_counter(counter: Series) -> Iterator[_Window]:
    """Yield the share of each window by which a counter of nanoseconds rose."""
    for first, last in _windows(counter.at):
        began_at, ended_at = counter.at[first], counter.at[last]
        risen_s = (counter.value[last] - counter.value[first]) / 1e9
        rise = bisect_right(counter.value, counter.value[first], first, last)
        share = min(1.0, risen_s / (ended_at - began_at))
        yield _Window(share, began_at, counter.at[rise - 1], ended_at)


def _by_flags(moments: Series) -> Iterator[_Window]:
    """Yield the share of samples in each window with the flag set."""
    for first, last in _windows(moments.at):
        values = moments.value[first : last + 1]
        slowed = next((at for at, value in enumerate(values, first) if value), first)
        share = sum(values) / len(values)
        yield _Window(share, moments.at[first], moments.at[slowed], moments.at[last])


def _windows(at: Sequence[float]) -> Iterator[tuple[int, int]]:
    """Yield first and last sample of each window that is long enough."""
    first = 0
    for last in range(len(at)):
        while at[last] - at[first] > thresholds.THROTTLE_WINDOW_S:
            first += 1
        if at[last] - at[first] >= thresholds.THROTTLE_LEAST_S:
            yield first, last


def _clock_left(clock: Series, spell: Spell) -> float:
    """Return the clock in a spell relative to that before it; 1 where it did not fall."""
    before = clock.until(spell.began_at).value
    during = clock.since(spell.began_at).until(spell.ended_at).value
    if not before or not during or not (usual := median(before)):
        return 1.0
    return min(1.0, median(during) / usual)


def _steps_slower(step_times: Sequence[tuple[float, int]], spell: Spell) -> float:
    """Return the time of a step in a spell relative to that before it; 1 where it is not known."""
    before = _step_s([one for one in step_times if one[0] < spell.began_at])
    during = _step_s([one for one in step_times if spell.began_at <= one[0] < spell.ended_at])
    return during / before if before and during else 1.0


def _step_s(step_times: Sequence[tuple[float, int]]) -> float:
    """Return the seconds of a step; 0 for too short a time."""
    if not step_times:
        return 0.0
    (began_at, first), (ended_at, last) = step_times[0], step_times[-1]
    steps, passed_s = last - first, ended_at - began_at
    return passed_s / steps if steps > 0 and passed_s >= thresholds.LEAST_TIMED_S else 0.0
