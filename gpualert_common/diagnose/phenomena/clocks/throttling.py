"""Throttling: a GPU that ran below its clocks because of heat or power.

Cumulative counters give the time of slowdown, also between samples; on cards without counters the
flags of each sample are used.  A power cap, an idle GPU and clocks that an administrator set are no
faults.  Throttling is a finding if the GPU was slowed down for most of one window of the run.  It
is the cause of a run that succeeded slowly only if the clock also fell.
"""

from __future__ import annotations

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
        f"GPU {parse_index(gpu)} was slowed down by {reason} for {spell.share:.0%} of ten minutes"
    )
    left = _clock_left(evidence.series(gpu, "sm_clock_mhz"), spell)
    claims = [Claim(because, "nvml")]
    if left < thresholds.CLOCK_DROP:
        claims.append(Claim(f"its clock fell to {left:.0%} of what it had been", "nvml"))
    percent = round(100 * spell.share)
    decides = evidence.is_completed and left < thresholds.CLOCK_DROP
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


class Spell(NamedTuple):
    """The largest slowed share of a window, and the time from the first such window to the last."""

    share: float
    began_at: float = 0.0
    ended_at: float = 0.0

    @classmethod
    def of(cls, windows: Iterable[tuple[float, float, float]]) -> Spell:
        """Return the spell of windows that are given by share, begin and end."""
        shares = list(windows)
        much = [one for one in shares if one[0] >= thresholds.THROTTLED_SHARE]
        most = max((share for share, _began, _ended in shares), default=0.0)
        return cls(most, much[0][1], much[-1][2]) if much else cls(most)


def _worst(evidence: Evidence, gpu: str) -> tuple[Spell, str]:
    """Return the spell in which a GPU was slowed down the most, and the reason."""
    if any(evidence.series(gpu, name) for name in COUNTERS):
        counted = {name: evidence.series(gpu, name) for name in COUNTERS}
        return max((Spell.of(_by_counter(one)), COUNTERS[name]) for name, one in counted.items())
    moments = {name: evidence.series(gpu, name) for name in FLAGS}
    return max((Spell.of(_by_flags(one)), FLAGS[name]) for name, one in moments.items())


def _by_counter(counter: Series) -> Iterator[tuple[float, float, float]]:
    """Yield the share of each window by which a counter of nanoseconds rose."""
    for first, last in _windows(counter.at):
        began_at, ended_at = counter.at[first], counter.at[last]
        risen_s = (counter.value[last] - counter.value[first]) / 1e9
        yield min(1.0, risen_s / (ended_at - began_at)), began_at, ended_at


def _by_flags(moments: Series) -> Iterator[tuple[float, float, float]]:
    """Yield the share of samples in each window with the flag set."""
    for first, last in _windows(moments.at):
        share = sum(moments.value[first : last + 1]) / (last + 1 - first)
        yield share, moments.at[first], moments.at[last]


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
