"""Where a training began: at its start, or where another one had stopped."""

from __future__ import annotations

from typing import NamedTuple

from gpualert_common.progress.model import Progress, Segment, Start

_FEW = 3


class Beginning(NamedTuple):
    """Where it began, and by what that is known, in words for people."""

    start: Start
    because: tuple[str, ...]


def beginning_of(progress: Progress) -> Beginning:
    """Where the training of *progress* began.

    Steps go before words: a run that says it resumes, and then tells step 10 first, did not.  Then
    the first move of a bar, and what was said last.
    """
    found: list[tuple[Start, str]] = []
    if progress.segments:
        found.append(_by_steps(progress.segments[0]))
    jump = progress.jump
    if jump is not None and jump.then is not None:
        told = f"the bar moved from {jump.before} to {jump.after} at once"
        by_bar = Start.RESUMED if jump.skips else Start.FRESH
        found.append((by_bar, told if jump.skips else f"the bar began at {jump.before}"))
    last = reversed(progress.markers[-_FEW:])
    found += [(marker.says, f"line {marker.line}: {marker.text}") for marker in last]
    start = next((says for says, _ in found if says is not Start.UNKNOWN), Start.UNKNOWN)
    return Beginning(start, tuple(told for says, told in found if says is not Start.UNKNOWN))


def _by_steps(segment: Segment) -> tuple[Start, str]:
    if segment.first_step is not None:
        told = f"the first step told is {segment.first_step}"
        if segment.second_step is not None:
            told += f", the next {segment.second_step}"
    else:
        told = f"the first epoch told is {segment.first_epoch}"
        if segment.second_epoch is not None:
            told += f", the next {segment.second_epoch}"
    return segment.start, f"{told} (line {segment.line})"
