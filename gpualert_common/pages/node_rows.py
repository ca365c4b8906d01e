"""Rows about the nodes of a job, one by one, or with equal ones folded into one row."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Sequence

from gpualert_common.jobs.job_report import NodeState, NodeSummary
from gpualert_common.jobs.merging.node_names import fold_names
from gpualert_common.pages.node_grid import (
    NodeKind,
    choose_tone_of_kind,
    draw_sample,
    find_kind,
    rank_kind,
)
from gpualert_common.report.formatting import short_duration
from gpualert_common.report.formatting import time as format_time
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.report.verdict_view import to_finite_number
from gpualert_common.report.wording import describe_outcome
from gpualert_common.structs import Struct

FEW_NODES = 16
"""As many are read at one glance."""
_LEAST_FOLDED = 4
_MOST_NAME = 160
_MOST_WORDS = 60
_CLOCK_NOTED_S = 1.0
"""Offset of a clock that people may notice in logs."""


class NodeRow(Struct, frozen=True, kw_only=True):
    """One node, or ``count`` equal ones; numbers as text, "" where they are not known.

    ``after_root`` is the time from the root cause to its failure.  Numbers of several nodes are
    their range; ``run_id`` is that of one node, for a link.
    """

    name: str
    count: int
    ranks: str
    kind: NodeKind
    end: str
    cause: str
    headline: str
    after_root: str
    position: str
    pace: str
    gpu: str
    clock: str
    run_id: str = ""
    is_own: bool = False

    @property
    def tone(self) -> str:
        """bad, odd, plain, live or good."""
        return choose_tone_of_kind(self.kind)

    @property
    def style(self) -> str:
        """The name of the kind in the style sheet."""
        return self.kind.partition(" ")[0]

    @property
    def sample(self) -> str:
        """The path of its mark in the picture."""
        return draw_sample(self.kind)


def make_node_rows(
    nodes: Sequence[NodeSummary],
    text: TextSanitizer,
    own: NodeSummary | None,
    root_at: float | None,
) -> list[NodeRow]:
    """Return a row for each node; nodes on one host have their numbers in their names."""
    hosts = Counter(node.host for node in nodes)
    return [
        _make_row([node], text, own, root_at, is_numbered=hosts[node.host] > 1) for node in nodes
    ]


def fold_nodes(
    nodes: Sequence[NodeSummary],
    text: TextSanitizer,
    own: NodeSummary | None,
    root_at: float | None,
) -> list[NodeRow]:
    """Return rows in which equal nodes are one, the gravest first, then the most."""
    groups: dict[tuple[object, ...], list[NodeSummary]] = {}
    for node in nodes:
        key = (find_kind(node), node.state, node.cause, node.disposition, node.exit_code)
        groups.setdefault(key, []).append(node)
    ordered = sorted(groups.values(), key=lambda one: (rank_kind(find_kind(one[0])), -len(one)))
    rows: list[NodeRow] = []
    for group in ordered:
        parts = [group] if len(group) >= _LEAST_FOLDED else [[node] for node in group]
        rows += (_make_row(part, text, own, root_at) for part in parts)
    return rows


def _make_row(
    nodes: Sequence[NodeSummary],
    text: TextSanitizer,
    own: NodeSummary | None,
    root_at: float | None,
    *,
    is_numbered: bool = False,
) -> NodeRow:
    one = nodes[0]
    is_single = len(nodes) == 1
    after = _list_values(nodes, lambda node: _find_delay(node, root_at))
    names = one.host if is_single else fold_names(node.host for node in nodes)
    if is_numbered and one.node is not None:
        names += f" (node {one.node})"
    return NodeRow(
        name=text.line(names, _MOST_NAME) or "a node without a name",
        count=len(nodes),
        ranks=text.line(one.ranks, _MOST_WORDS) if is_single else "",
        kind=find_kind(one),
        end=_describe_end(one),
        cause="" if one.cause in (None, "none") else text.line(one.cause, _MOST_WORDS),
        headline=text.line(one.headline) if is_single else "",
        after_root=_format_range(after, _format_delay),
        position=_format_range(_list_values(nodes, lambda node: node.position), _format_position),
        pace=_format_range(_list_values(nodes, lambda node: node.pace_s), _format_pace),
        gpu=_format_range(_list_values(nodes, lambda node: node.gpu_percent), _format_percent),
        clock=_format_clock(nodes),
        run_id=text.line(one.run_id) if is_single else "",
        is_own=own is not None and any(node is own for node in nodes),
    )


def _find_delay(node: NodeSummary, root_at: float | None) -> float | None:
    return None if root_at is None or node.failed_at is None else node.failed_at - root_at


def _describe_end(node: NodeSummary) -> str:
    match node.state:
        case NodeState.ENDED:
            words = describe_outcome(node.disposition or "unknown", None).removeprefix("was ")
            return f"{words}, status {node.exit_code}" if node.exit_code else words
        case NodeState.RUNNING:
            return "running"
        case NodeState.SILENT:
            heard = format_time(node.heard_at).partition(" ")[2]
            return f"silent since {heard.removesuffix(' UTC')}" if node.heard_at else "silent"
        case NodeState.MISSING:
            return "no digest"


def _list_values(
    nodes: Sequence[NodeSummary], read: Callable[[NodeSummary], float | None]
) -> list[float]:
    found = (to_finite_number(read(node)) for node in nodes)
    return [value for value in found if value is not None]


def _format_range(values: Sequence[float], form: Callable[[float], str]) -> str:
    """Return the least and the highest value, or the one that both are."""
    if not values:
        return ""
    least, most = form(min(values)), form(max(values))
    return least if least == most else f"{least} to {most}"


def _format_delay(seconds: float) -> str:
    if abs(seconds) < 0.05:
        return "0.0s"
    return f"{'+' if seconds > 0 else '-'}{short_duration(abs(seconds))}"


def _format_position(value: float) -> str:
    return f"{value:,.0f}"


def _format_pace(seconds: float) -> str:
    return f"{seconds:.3g}s" if 0 <= seconds < 10 else short_duration(seconds)


def _format_percent(value: float) -> str:
    return f"{value:.0f} %"


def _format_clock(nodes: Sequence[NodeSummary]) -> str:
    """Return the offset of a clock that is off; of several, the median."""
    values = _list_values(nodes, lambda node: node.clock_offset_s)
    found = statistics.median(values) if values else 0.0
    return _format_delay(found) if abs(found) >= _CLOCK_NOTED_S else ""
