"""Programs of ranks: the order of their calls, and the ranks that leave it.

Ranks of one training run the same program, each in groups of its own.  So two calls are equal if
operation, size, and kind of group are.  The comparison begins at a collective that all ranks have
completed, or at the start where no call has been lost, and ends at the first difference.

Where no majority decides, the earlier steps of the ranks may: most of a training is a repetition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from enum import Enum, auto

from gpualert_common.collectives.calls import sign_call
from gpualert_common.collectives.positions import GroupPositions
from gpualert_common.collectives.trace import RankTrace, RecordedCall

_LEAST_CONTEXT = 4
"""Calls in a row that must have occurred before, so that the next one is known."""

_MOST_COMPARED = 16
"""Ranks whose own steps are compared.  More of them have a majority, as a rule."""
_MOST_STEPS = 256
"""Newest steps that are compared with earlier ones."""

_Step = tuple[object, ...]
_KIND = slice(3)
"""Part of a step without sizes and types: kind of group and operation."""


class _Course(Enum):
    """Course of a rank's newest calls, by its own earlier ones."""

    REPEATS = auto()
    DEPARTS = auto()
    UNKNOWN = auto()


def find_deviants(
    ranks: Collection[int],
    traces: Mapping[int, RankTrace],
    positions: Mapping[str, GroupPositions],
) -> set[int]:
    """Return those of *ranks* whose calls differ from the majority's; empty where none is known.

    Transfers do not count: those of two stages of a pipeline differ.
    """
    found = _list_programs([rank for rank in ranks if rank in traces], traces, positions)
    programs = {
        rank: [step for step in steps[start:] if not _is_transfer(step)]
        for rank, (steps, start) in found.items()
    }
    voters = set(programs)
    longest = max(map(len, programs.values()), default=0)
    for place in range(longest):
        steps = {rank: programs[rank][place] for rank in voters if place < len(programs[rank])}
        counts = Counter(steps.values())
        if len(counts) > 1:
            usual, count = counts.most_common(1)[0]
            odd = {rank for rank, step in steps.items() if step != usual}
            return odd if 2 * count > len(steps) else set()
    return set()


def find_departures(
    ranks: Collection[int],
    traces: Mapping[int, RankTrace],
    positions: Mapping[str, GroupPositions],
) -> set[int]:
    """Return those of *ranks* that left the order of their own earlier steps, if the others repeat
    theirs; empty where that is not known of every rank."""
    if len(ranks) > _MOST_COMPARED:
        return set()
    found = _list_programs([rank for rank in ranks if rank in traces], traces, positions)
    courses = {rank: _find_course(steps, start) for rank, (steps, start) in found.items()}
    if len(courses) < len(ranks) or _Course.UNKNOWN in courses.values():
        return set()
    departed = {rank for rank, course in courses.items() if course is _Course.DEPARTS}
    return departed if len(departed) < len(courses) else set()


def _find_course(steps: Sequence[_Step], start: int) -> _Course:
    """Return the course of the steps from *start* on.

    A call that was never made before may begin a new part of the program, such as an evaluation.
    One of another size is the same call.
    """
    course = _Course.UNKNOWN
    for place in range(max(start, len(steps) - _MOST_STEPS), len(steps)):
        expected = _find_next(steps[:place])
        if expected is None:
            continue
        if steps[place] != expected:
            is_known = steps[place] in steps[:place] or steps[place][_KIND] == expected[_KIND]
            return _Course.DEPARTS if is_known else _Course.UNKNOWN
        course = _Course.REPEATS
    return course


def _find_next(steps: Sequence[_Step]) -> _Step | None:
    """Return the step that followed the longest earlier occurrence of the last ones.

    None where occurrences of this length were followed by different steps, or are too short.
    """
    lengths = _measure_repeats(steps[::-1])
    longest = max(lengths, default=0)
    ago = [index + 1 for index, length in enumerate(lengths) if length == longest]
    if not ago or (longest < _LEAST_CONTEXT and longest < min(ago)):
        return None
    found = {steps[-one] for one in ago}
    return found.pop() if len(found) == 1 else None


def _measure_repeats(steps: Sequence[_Step]) -> list[int]:
    """Return for each step but the first how many from there on equal the first ones (Z)."""
    count = len(steps)
    lengths = [0] * count
    left = right = 0
    for at in range(1, count):
        length = min(right - at, lengths[at - left]) if at < right else 0
        while at + length < count and steps[length] == steps[at + length]:
            length += 1
        lengths[at] = length
        if at + length > right:
            left, right = at, at + length
    return lengths[1:]


def _list_programs(
    ranks: Sequence[int],
    traces: Mapping[int, RankTrace],
    positions: Mapping[str, GroupPositions],
) -> dict[int, tuple[list[_Step], int]]:
    """Return the steps of each rank, and the index of the first one after a common place; none
    where there is no such place."""
    for key, one in sorted(positions.items(), key=lambda pair: -len(pair[1].members)):
        if not one.progress.keys() >= set(ranks):
            continue
        last = min(one.progress[rank].completed for rank in ranks)
        starts = {rank: _find_call(traces[rank], key, last) for rank in ranks}
        if all(start is not None for start in starts.values()):
            return {
                rank: (_make_steps(traces[rank].calls, positions), (start or 0) + 1)
                for rank, start in starts.items()
            }
    if all(traces[rank].is_whole for rank in ranks):
        return {rank: (_make_steps(traces[rank].calls, positions), 0) for rank in ranks}
    return {}


def _find_call(trace: RankTrace, key: str, sequence: int) -> int | None:
    """Return the index of the last call with a number in a group."""
    for index in range(len(trace.calls) - 1, -1, -1):
        call = trace.calls[index]
        if call.group == key and call.sequence == sequence and call.peer is None:
            return index
    return None


def _make_steps(
    calls: Sequence[RecordedCall], positions: Mapping[str, GroupPositions]
) -> list[_Step]:
    return [
        (*_describe_group(positions[call.group]), *sign_call(call), call.peer) for call in calls
    ]


def _is_transfer(step: _Step) -> bool:
    return step[-1] is not None


def _describe_group(one: GroupPositions) -> tuple[str, int]:
    return one.group.description, len(one.members)
