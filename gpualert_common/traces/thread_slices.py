"""Slices of one thread of the CPU: its operators, annotations, runtime calls and Python functions.

Slices of a thread nest, as calls do.  Walking them yields segments: times with the innermost slice.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from gpualert_common.traces.slice_names import SliceName, SliceNames, SliceSort
from gpualert_common.traces.work_kinds import WorkKind

_LONGEST_NS = 1 << 42
_FAR_NS = 1 << 62
_NO_OPERATOR = -1
_INHERITED = frozenset((WorkKind.COMMUNICATION, WorkKind.INPUT, WorkKind.ATTENTION))
"""Kinds that hold for all that happens within such a slice."""


class SliceSegment(NamedTuple):
    """A time of a thread, with the names of its innermost slice and its innermost operator.

    ``operator`` is -1 outside of all operators.
    """

    start: int
    end: int
    name: int
    operator: int
    kind: WorkKind | None


class ThreadSlices:
    """The slices of one thread, in columns; times are nanoseconds from the start of the trace."""

    def __init__(self) -> None:
        self.starts = array("q")
        self.ends = array("q")
        self.names = array("l")
        self.operations: dict[int, float] = {}
        """Floating-point operations, by row."""

    def __len__(self) -> int:
        return len(self.starts)

    def add(self, start: int, end: int, name: int, operations: float = 0.0) -> None:
        """Add a slice."""
        if operations:
            self.operations[len(self.starts)] = operations
        self.starts.append(start)
        self.ends.append(end)
        self.names.append(name)

    def walk(self, names: SliceNames) -> Iterator[SliceSegment]:
        """Yield the segments in the order of time; times without a slice are left out.

        A slice that ends after the one around it is cut there, except for an annotation: Python
        code enters and leaves one by two calls, so that it outlasts the call that began it.
        """
        stack: list[SliceSegment] = []
        cursor = 0
        for row in self.sort_rows():
            start, end, name = self.starts[row], self.ends[row], self.names[row]
            while stack and stack[-1].end <= start:
                last = stack.pop()
                if last.end > cursor:
                    yield SliceSegment(cursor, *last[1:])
                    cursor = last.end
            if stack and start > cursor:
                yield SliceSegment(cursor, start, *stack[-1][2:])
            cursor = start
            place = len(stack)
            if names[name].sort is SliceSort.ANNOTATION:
                while place and stack[place - 1].end < end:
                    place -= 1
            around = stack[place - 1] if place else None
            stack.insert(place, _nest(name, names[name], start, end, around))
        while stack:
            last = stack.pop()
            if last.end > cursor:
                yield SliceSegment(cursor, *last[1:])
                cursor = last.end

    def sort_rows(self) -> list[int]:
        """Return the rows by their start, those around others first."""
        keys = [
            (start << 42) - min(end - start, _LONGEST_NS - 1)
            for start, end in zip(self.starts, self.ends, strict=True)
        ]
        return sorted(range(len(keys)), key=keys.__getitem__)

    def count_names(self, window: tuple[int, int]) -> Counter[int]:
        """Return how many slices of each name start in the window."""
        first, last = window
        pairs = zip(self.starts, self.names, strict=True)
        return Counter(name for start, name in pairs if first <= start < last)

    def list_operations(self) -> Iterator[tuple[int, float]]:
        """Yield start and operations of each slice that counts: none within another one."""
        last_end = -_FAR_NS
        rows = sorted(self.operations, key=lambda row: (self.starts[row], -self.ends[row]))
        for row in rows:
            if self.starts[row] >= last_end:
                last_end = self.ends[row]
                yield self.starts[row], self.operations[row]


def _nest(
    name: int, about: SliceName, start: int, end: int, around: SliceSegment | None
) -> SliceSegment:
    """Return a slice as part of the one around it."""
    operator = name if about.sort is SliceSort.OPERATOR else _NO_OPERATOR
    if around is None:
        return SliceSegment(start, end, name, operator, about.kind)
    operator = operator if operator != _NO_OPERATOR else around.operator
    end = min(end, around.end)
    return SliceSegment(start, end, name, operator, _inherit(about.kind, around.kind))


def _inherit(kind: WorkKind | None, outer: WorkKind | None) -> WorkKind | None:
    """Return the kind of a slice of *kind* within one of the kind *outer*."""
    if kind is None or outer in _INHERITED:
        return outer if outer is not None else kind
    return outer if kind is WorkKind.OTHER and outer is not None else kind
