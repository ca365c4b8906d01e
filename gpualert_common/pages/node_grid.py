"""Picture of the nodes of a job: a grid with one mark for each, by its part in the failure.

The marks differ by their shapes, not by their colours alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from gpualert_common.jobs.job_report import NodePart, NodeState, NodeSummary
from gpualert_common.structs import Struct

MOST_MARKS = 1200
"""Of more nodes each mark stands for several: a page of 1,000 pixels has room for these."""
_CELL = 12
_ONE_ROW = 16
_LARGE = 64
"""Up to so many nodes are drawn twice as large."""


class NodeKind(StrEnum):
    """Part and state of a node in one word, the gravest first."""

    CULPRIT = "culprit"
    SAME = "same cause"
    MISSING = "missing"
    SILENT = "silent"
    CASCADE = "cascade"
    UNKNOWN = "unknown"
    RUNNING = "running"
    HEALTHY = "healthy"


_ORDER = {kind: number for number, kind in enumerate(NodeKind)}
_TONES = {
    NodeKind.CULPRIT: "bad",
    NodeKind.SAME: "bad",
    NodeKind.MISSING: "bad",
    NodeKind.SILENT: "odd",
    NodeKind.CASCADE: "odd",
    NodeKind.UNKNOWN: "plain",
    NodeKind.RUNNING: "live",
    NodeKind.HEALTHY: "good",
}
_SHAPES = {
    NodeKind.CULPRIT: (0, 0, "h10v10h-10z"),  # a framed square
    NodeKind.SAME: (5, 0, "l5 5-5 5-5-5z"),  # a diamond
    NodeKind.MISSING: (1, 1, "l8 8m0-8l-8 8"),  # a cross
    NodeKind.SILENT: (5, 1, "l4 4-4 4-4-4z"),  # the outline of a diamond
    NodeKind.CASCADE: (0, 0, "v10h10z"),  # a triangle in the corner
    NodeKind.UNKNOWN: (2, 2, "h6v6h-6z"),  # the outline of a square
    NodeKind.RUNNING: (1, 1, "l8 4-8 4z"),  # a triangle to the right
    NodeKind.HEALTHY: (2, 2, "h6v6h-6z"),  # a small square
}
"""Begin and path of each mark in a cell of ten by ten; ``job.css`` fills or outlines it."""


class GridMarks(Struct, frozen=True):
    """All marks of one kind: ``path`` draws them, ``sample`` one alone; ``count`` counts nodes."""

    kind: NodeKind
    tone: str
    count: int
    path: str
    sample: str

    @property
    def style(self) -> str:
        """The name of the kind in the style sheet."""
        return self.kind.partition(" ")[0]


class NodeGrid(Struct, frozen=True):
    """The picture, with the legend as its ``marks`` and the same in words.

    ``width`` and ``height`` are those of its coordinates, ``scale`` the pixels of one.
    """

    width: int
    height: int
    scale: int
    marks: tuple[GridMarks, ...]
    description: str
    nodes_of_mark: int


def find_kind(node: NodeSummary) -> NodeKind:
    """Return the kind of a node."""
    match node.part:
        case NodePart.CULPRIT:
            return NodeKind.CULPRIT
        case NodePart.SAME:
            return NodeKind.SAME
        case NodePart.CASCADE | NodePart.HEALTHY | NodePart.UNKNOWN:
            pass
    match node.state:
        case NodeState.MISSING:
            return NodeKind.MISSING
        case NodeState.SILENT:
            return NodeKind.SILENT
        case NodeState.RUNNING:
            is_cascade = node.part is NodePart.CASCADE
            return NodeKind.CASCADE if is_cascade else NodeKind.RUNNING
        case NodeState.ENDED:
            return NodeKind(node.part.value)


def choose_tone_of_kind(kind: NodeKind) -> str:
    """Return bad, odd, plain, live or good."""
    return _TONES[kind]


def rank_kind(kind: NodeKind) -> int:
    """Return the place of a kind among all, from 0 for the gravest."""
    return _ORDER[kind]


def draw_sample(kind: NodeKind) -> str:
    """Return the path of one mark alone."""
    return _draw(kind, 0, 0)


def draw_nodes(nodes: Sequence[NodeSummary], most_marks: int = MOST_MARKS) -> NodeGrid:
    """Return the picture of the nodes in the order of their indexes, then of their hosts."""
    ordered = sorted(nodes, key=lambda node: (node.node is None, node.node or 0, node.host))
    kinds = [find_kind(node) for node in ordered]
    size = max(1, -(-len(kinds) // max(1, most_marks)))
    shown = [min(kinds[at : at + size], key=rank_kind) for at in range(0, len(kinds), size)]
    columns = _choose_columns(len(shown))
    paths: dict[NodeKind, list[str]] = {}
    for number, kind in enumerate(shown):
        row, column = divmod(number, columns)
        paths.setdefault(kind, []).append(_draw(kind, column * _CELL, row * _CELL))
    counts = Counter(kinds)
    marks = tuple(
        GridMarks(kind, _TONES[kind], counts[kind], "".join(paths.get(kind, ())), draw_sample(kind))
        for kind in NodeKind
        if counts[kind]
    )
    listed = ", ".join(f"{one.count:,} {one.kind}" for one in marks)
    return NodeGrid(
        width=min(columns, len(shown)) * _CELL - 2,
        height=-(-len(shown) // columns) * _CELL - 2,
        scale=2 if len(shown) <= _LARGE else 1,
        marks=marks,
        description=f"{len(kinds):,} node{'s' if len(kinds) != 1 else ''}: {listed}",
        nodes_of_mark=size,
    )


def _choose_columns(count: int) -> int:
    """Return a multiple of eight, for about four times as many columns as rows."""
    return _ONE_ROW if count <= _ONE_ROW else max(16, min(64, 8 * math.ceil(count**0.5 / 4)))


def _draw(kind: NodeKind, x: int, y: int) -> str:
    dx, dy, path = _SHAPES[kind]
    return f"M{x + dx} {y + dy}{path}"
