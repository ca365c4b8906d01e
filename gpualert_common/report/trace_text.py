"""The analysis of traces as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpualert_common.report.formatting import COLUMNS, size
from gpualert_common.report.tables import Column, format_table
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.traces.analysis import RankAnalysis, StepTimes, TraceAnalysis, TracedDevice
from gpualert_common.traces.trace_finding import describe_analysis, format_seconds, name_rank

_MOST_RANKS = 16
_MOST_NAMES = 5
_NAME_COLUMN = 56

_TIMES: tuple[tuple[str, Callable[[StepTimes], float]], ...] = (
    ("step", lambda one: one.duration_s),
    ("matmul", lambda one: one.work.matmul_s),
    ("attention", lambda one: one.work.attention_s),
    ("other", lambda one: one.work.other_s),
    ("copies", lambda one: one.work.copies_s),
    ("exposed comm.", lambda one: one.exposed_s),
    ("hidden comm.", lambda one: one.hidden_s),
    ("input", lambda one: one.work.input_s),
    ("idle", lambda one: one.idle_s),
)


def render_analysis(
    analysis: TraceAnalysis, text: TextSanitizer, *, is_full: bool = False
) -> list[str]:
    """Return the finding, the times of the ranks, and details of the slow rank or the first.

    With *is_full* there are details of all ranks, and all that each has.
    """
    finding = describe_analysis(analysis)
    lines = [finding.headline[0].upper() + finding.headline[1:], ""]
    lines += [f"shows: {one}" for one in finding.shows]
    lines += [f"implies: {finding.implies}"] if finding.implies else []
    lines += [f"cannot decide: {one}" for one in finding.cannot_decide]
    if analysis.ranks:
        lines += ["", *_render_table(analysis, is_full=is_full)]
    for one in analysis.ranks if is_full else choose_ranks(analysis):
        lines += ["", *render_rank(one, is_full=is_full)]
    return [text.log_line(line) for line in lines]


def list_times(ranks: Sequence[RankAnalysis]) -> list[Column]:
    """Return the mean times of a step in columns, a row for each rank; empty columns are left out.

    The cells of the first column, the names of the ranks, are not sanitized.
    """
    columns = [Column("rank", [name_rank(one.rank) for one in ranks], least=8)]
    columns.append(Column("steps", [str(one.step_count or "?") for one in ranks], is_right=True))
    for title, read in _TIMES:
        times = [read(one.total) / max(1, one.step_count) for one in ranks]
        if any(times):
            cells = [format_seconds(time) if time else "-" for time in times]
            columns.append(Column(title, cells, is_right=True))
    return columns


def _render_table(analysis: TraceAnalysis, *, is_full: bool) -> list[str]:
    shown = analysis.ranks if is_full else list_ranks(analysis, _MOST_RANKS)
    lines = format_table(list_times(shown), COLUMNS)
    more = len(analysis.ranks) - len(shown)
    return [*lines, *([f"and {more} more ranks"] if more else [])]


def list_ranks(analysis: TraceAnalysis, most: int) -> list[RankAnalysis]:
    """Return the first ranks, and as the last of them the one that the others wait for."""
    first, rest = analysis.ranks[:most], analysis.ranks[most:]
    slow = analysis.comparison.delay.rank if analysis.comparison.delay else ""
    late = [one for one in rest if one.rank == slow]
    return [*first[: most - len(late)], *late]


def choose_ranks(analysis: TraceAnalysis) -> list[RankAnalysis]:
    """Return the rank that the others wait for, else the first."""
    delay = analysis.comparison.delay
    slow = [one for one in analysis.ranks if delay is not None and one.rank == delay.rank]
    return (slow or [*analysis.ranks])[:1]


def render_rank(one: RankAnalysis, *, is_full: bool = False) -> Iterator[str]:
    """Yield the details of one rank, which are not sanitized; the first line names it."""
    most = None if is_full else _MOST_NAMES
    steps = f"steps by {one.step_sign}" if one.step_sign else "no sign of steps"
    yield f"{name_rank(one.rank)}, {one.device.upper()}, {one.events} events, {steps}"
    if one.gaps:
        is_gpu = one.device is TracedDevice.GPU
        gaps = "gaps of the GPU" if is_gpu else "times without an operator"
        yield f"  {gaps}, by the activity of the process"
        yield from (
            _row(gap.label, gap.total_s, f"{gap.gaps} gaps, {gap.kind}") for gap in one.gaps[:most]
        )
    slowest = ("operators, without those that they call", one.operators), ("kernels", one.kernels)
    for title, names in slowest:
        if names:
            yield f"  slowest {title}"
            yield from (
                _row(each.name, each.total_s, f"{each.calls} calls") for each in names[:most]
            )
    if one.latency is not None:
        latency = one.latency
        yield (
            f"  issue latency: median {format_seconds(latency.median_s)}, 95 % within "
            f"{format_seconds(latency.high_s)}, of {latency.kernels} kernels"
        )
    if one.operations and one.total.duration_s:
        rate = one.operations / one.total.duration_s
        yield f"  {one.operations / 1e9:.1f} GFLOP, {_format_rate(rate)} over the whole time"
    for rate_of in one.collectives[:most]:
        yield (
            f"  {rate_of.operation} of {size(rate_of.size_bytes)} {rate_of.dtype}, "
            f"{rate_of.group_size} ranks, {rate_of.calls} calls: algorithm "
            f"{rate_of.algorithm_rate / 1e9:.2f} GB/s, bus {rate_of.bus_rate / 1e9:.2f} GB/s, "
            f"best {rate_of.best_bus_rate / 1e9:.2f} GB/s"
        )


def _row(name: str, seconds: float, note: str) -> str:
    label = name if len(name) <= _NAME_COLUMN else f"{name[: _NAME_COLUMN - 3]}..."
    return f"    {label:{_NAME_COLUMN}}  {format_seconds(seconds):>9}  {note}"


def _format_rate(per_second: float) -> str:
    if per_second >= 1e12:
        return f"{per_second / 1e12:.1f} TFLOP/s"
    return f"{per_second / 1e9:.1f} GFLOP/s"
