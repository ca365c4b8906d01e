"""Start of a training: fresh, or resumed from an earlier one."""

from __future__ import annotations

from typing import NamedTuple

from gpualert_common.progress.model import Progress, Segment, Start

_FEW = 3


class Beginning(NamedTuple):
    """The start of a training, and the reasons in words."""

    start: Start
    because: tuple[str, ...]


def determine_start(progress: Progress) -> Beginning:
    """Return how the training of *progress* started.

    Steps have priority over messages: a run that announces a resume and then logs step 10 first is
    not resumed.  The first move of a bar comes second, the latest messages last.
    """
    found: list[tuple[Start, str]] = []
    if progress.segments:
        found.append(_classify_by_steps(progress.segments[0]))
    jump = progress.jump
    if jump is not None and jump.then is not None:
        reason = f"the bar moved from {jump.before} to {jump.after} at once"
        by_bar = Start.RESUMED if jump.is_skip else Start.FRESH
        found.append((by_bar, reason if jump.is_skip else f"the bar began at {jump.before}"))
    last = reversed(progress.markers[-_FEW:])
    found += [(marker.says, f"line {marker.line}: {marker.text}") for marker in last]
    start = next((says for says, _ in found if says is not Start.UNKNOWN), Start.UNKNOWN)
    return Beginning(start, tuple(reason for says, reason in found if says is not Start.UNKNOWN))


def _classify_by_steps(segment: Segment) -> tuple[Start, str]:
    if segment.first_step is not None:
        reason = f"the first logged step is {segment.first_step}"
        if segment.second_step is not None:
            reason += f", the next {segment.second_step}"
    else:
        reason = f"the first logged epoch is {segment.first_epoch}"
        if segment.second_epoch is not None:
            reason += f", the next {segment.second_epoch}"
    return segment.start, f"{reason} (line {segment.line})"
