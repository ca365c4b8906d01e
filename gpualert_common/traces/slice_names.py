"""Names of the slices of the CPU and of the kernels, each kept once."""

from __future__ import annotations

from enum import IntEnum

from gpualert_common.structs import Struct
from gpualert_common.traces.work_kinds import WorkKind, classify_kernel, classify_operator

MOST_NAMES = 50_000
"""Different names of one rank; a real trace has some hundreds, one with stacks some thousands."""
_MOST_CHARACTERS = 160
_MOST_KEY_CHARACTERS = 1000
"""Characters that tell two names apart; names of kernels with templates have some hundreds."""
_REST = "other names"
_WORKING_ANNOTATIONS = frozenset((WorkKind.COMMUNICATION, WorkKind.INPUT))


class SliceSort(IntEnum):
    """Sorts of slices, as Kineto has them."""

    OPERATOR = 0
    ANNOTATION = 1
    RUNTIME = 2
    PYTHON = 3
    DEVICE = 4


class SliceName(Struct, frozen=True):
    """A name of slices; ``kind`` is None for slices that are no work themselves."""

    label: str
    sort: SliceSort
    kind: WorkKind | None


class SliceNames:
    """All names of a rank, by their index."""

    def __init__(self) -> None:
        self._indexes: dict[tuple[SliceSort, str], int] = {}
        self._names: list[SliceName] = []

    def __getitem__(self, index: int) -> SliceName:
        return self._names[index]

    def find(self, sort: SliceSort, name: str) -> int:
        """Return the index of a name, by its first characters."""
        name = name[:_MOST_KEY_CHARACTERS]
        index = self._indexes.get((sort, name))
        if index is None:
            if len(self._names) >= MOST_NAMES:
                name = _REST
            index = self._indexes.get((sort, name), len(self._names))
            if index == len(self._names):
                self._indexes[sort, name] = index
                self._names.append(SliceName(_shorten(name), sort, _find_kind(sort, name)))
        return index


def _find_kind(sort: SliceSort, name: str) -> WorkKind | None:
    if sort is SliceSort.DEVICE:
        return classify_kernel(name)
    if sort is SliceSort.OPERATOR:
        return classify_operator(name)
    if sort is SliceSort.ANNOTATION:
        kind = classify_operator(name)
        return kind if kind in _WORKING_ANNOTATIONS else None
    return None


def _shorten(name: str) -> str:
    """Return the name without the address of an object, and not longer than a line or two."""
    if name.startswith("<built-in") and " of " in name:
        name = f"{name.partition(' of ')[0]}>"
    return name if len(name) <= _MOST_CHARACTERS else f"{name[: _MOST_CHARACTERS - 3]}..."
