"""The finding of an analysis, for people: what the traces show, imply, and cannot decide."""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.codec import encode
from gpualert_common.structs import Struct
from gpualert_common.traces.analysis import (
    UNRECORDED,
    DelayKind,
    GapKind,
    RankAnalysis,
    StepRule,
    TraceAnalysis,
    TracedDevice,
    TraceDelay,
)

_NOTABLE_SHARE = 0.2
"""Part of the time from which on gaps or exposed communication are the headline."""
_MOST_NAMED = 4

_DELAYS = {
    DelayKind.COMPUTE: "computing",
    DelayKind.COPIES: "copies",
    DelayKind.INPUT: "the wait for data",
}
_CPU_DELAYS = {
    TracedDevice.GPU: "gaps in which its GPU waits for the CPU",
    TracedDevice.CPU: "time between its operators",
}
_ADVICE = {
    DelayKind.COMPUTE: "its work is larger than that of the others, or its device is slower: "
    "compare the batches of the ranks, then the clocks and temperatures of the devices",
    DelayKind.COPIES: "it copies more data than the others, or over a slower link",
    DelayKind.INPUT: "its data loader does not keep up: compare its storage, its workers and the "
    "sizes of its samples with those of the others",
    DelayKind.CPU: "its process does more between the operators than the others, or gets less of "
    "the CPU: logging, checkpoints, other programs on its cores",
}
_EXPOSED = (
    "Computing does not hide this communication: it waits for other ranks or for the network."
)
_SLOW_SUPPLY = "The data loader is slower than the training."
_GAPS = {
    GapKind.INPUT: "are waits for the data loader",
    GapKind.SYNCHRONIZATION: "follow a wait of the CPU for the GPU",
    GapKind.COMMUNICATION: "are in calls of collectives",
    GapKind.ISSUE: "are operators and launches on the CPU",
    GapKind.PYTHON: "are Python code",
    GapKind.UNRECORDED: "are code that the trace does not have",
}


class TraceFinding(Struct, frozen=True):
    """The finding: a headline, and the three parts of a verdict."""

    headline: str
    shows: tuple[str, ...]
    implies: str
    cannot_decide: tuple[str, ...]


def describe_analysis(analysis: TraceAnalysis) -> TraceFinding:
    """Return the finding of an analysis."""
    if not analysis.ranks:
        return TraceFinding("no trace could be read", tuple(_list_left_out(analysis)), "", ())
    delay = analysis.comparison.delay
    headline, implies = _conclude_delay(analysis, delay) if delay else _conclude_shares(analysis)
    shows = (*_show_ranks(analysis), *_list_left_out(analysis))
    return TraceFinding(headline, shows, implies, tuple(_list_limits(analysis)))


def encode_with_finding(analysis: TraceAnalysis) -> dict[str, object]:
    """Return an analysis as plain dicts and lists, with its finding."""
    return {**encode(analysis), "finding": encode(describe_analysis(analysis))}


def format_seconds(seconds: float) -> str:
    """Return ``1.24 s``, ``24.4 ms`` or ``7.9 us``."""
    if seconds >= 0.9995:
        return f"{seconds:.2f} s"
    if seconds >= 0.000_999_5:
        return f"{seconds * 1e3:.1f} ms"
    return f"{seconds * 1e6:.1f} us"


def name_rank(rank: str) -> str:
    """Return ``rank 3`` for ``rank:3``."""
    return rank.replace(":", " ")


def _conclude_delay(analysis: TraceAnalysis, delay: TraceDelay) -> tuple[str, str]:
    """Return the headline and the implication of a slow rank."""
    name, wait = name_rank(delay.rank), format_seconds(delay.wait_s)
    cost = f"the others wait {wait} of each step of {format_seconds(delay.step_s)} for it"
    if delay.kind is DelayKind.UNKNOWN:
        return f"{name} is slower: {cost}", f"All ranks are as slow as {name} is."
    headline = f"{name} is slower by {_name_delay(analysis, delay)}: {cost}"
    implies = f"All ranks are as slow as {name} is, and {_ADVICE[delay.kind]}."
    return headline, implies


def _name_delay(analysis: TraceAnalysis, delay: TraceDelay) -> str:
    return _DELAYS.get(delay.kind) or _CPU_DELAYS[analysis.ranks[0].device]


def _conclude_shares(analysis: TraceAnalysis) -> tuple[str, str]:
    """Return the headline and the implication by the largest part of the time that is lost."""
    one = max(analysis.ranks, key=lambda rank: rank.total.idle_s + rank.total.exposed_s)
    total, device = one.total, _name_device(one)
    duration_s = total.duration_s or 1.0
    name = f" of {name_rank(one.rank)}" if len(analysis.ranks) > 1 else ""
    idle, exposed = total.idle_s / duration_s, total.exposed_s / duration_s
    if max(idle, exposed, total.work.input_s / duration_s) < _NOTABLE_SHARE:
        share = _percent(total.compute_s / duration_s)
        return f"{device}{name} computes in {share} of the time", ""
    if one.device is TracedDevice.CPU and total.work.input_s > max(total.idle_s, total.exposed_s):
        share = _percent(total.work.input_s / duration_s)
        return f"{device}{name} waits for data in {share} of the time", _SLOW_SUPPLY
    if exposed > idle:
        headline = f"{device}{name} only communicates in {_percent(exposed)} of the time"
        return headline, _EXPOSED
    return f"{device}{name} has nothing to do in {_percent(idle)} of the time", _advise_gap(one)


def _advise_gap(one: RankAnalysis) -> str:
    """Return what the largest cause of the gaps implies."""
    if not one.gaps:
        return ""
    gap = one.gaps[0]
    return f"The device is faster than its supply: most of its gaps {_GAPS[gap.kind]}."


def _show_ranks(analysis: TraceAnalysis) -> Iterator[str]:
    delay = analysis.comparison.delay
    if delay is not None:
        yield from _show_delay(analysis, delay)
    elif analysis.comparison.doubt:
        yield f"no rank is slower than the others: {analysis.comparison.doubt}"
    first = next((one for one in analysis.ranks if delay and one.rank == delay.rank), None)
    yield from _show_rank(first or analysis.ranks[0])


def _show_delay(analysis: TraceAnalysis, delay: TraceDelay) -> Iterator[str]:
    name, wait = name_rank(delay.rank), format_seconds(delay.wait_s)
    yield f"{name} spends {wait} less of each step in communication than the others"
    if delay.kind is not DelayKind.UNKNOWN:
        what = f", most of it in {_name_activity(delay.detail)}" if delay.detail else ""
        excess = format_seconds(delay.excess_s)
        yield f"{name} spends {excess} more of each step in {_name_delay(analysis, delay)}{what}"


def _show_rank(one: RankAnalysis) -> Iterator[str]:
    """Yield the facts about the gaps, the latency and the communication of a rank."""
    name, total = name_rank(one.rank), one.total
    communication_s = total.work.communication_s
    if communication_s:
        hidden = total.hidden_s / communication_s
        yield (
            f"{name} communicates for {format_seconds(communication_s)}, of which computing hides "
            f"{_percent(hidden)}"
        )
    if one.gaps and total.idle_s:
        gap = one.gaps[0]
        yield (
            f"{_name_idle(one)} for {format_seconds(total.idle_s)} of "
            f"{format_seconds(total.duration_s)}; the CPU spends most of that in "
            f"{_name_activity(gap.label)}"
        )
    if one.latency is not None:
        yield (
            f"a kernel of {name} starts {format_seconds(one.latency.median_s)} after its launch "
            f"(median; 95 % within {format_seconds(one.latency.high_s)})"
        )


def _list_left_out(analysis: TraceAnalysis) -> Iterator[str]:
    for one in analysis.left_out[:_MOST_NAMED]:
        yield f"{name_rank(one.rank)} is left out: {one.problem}"
    if len(analysis.left_out) > _MOST_NAMED:
        yield f"{len(analysis.left_out) - _MOST_NAMED} more ranks are left out"


def _list_limits(analysis: TraceAnalysis) -> Iterator[str]:
    """Yield what the traces cannot decide."""
    ranks, delay = analysis.ranks, analysis.comparison.delay
    yield "how long a step takes without the profiler, which slows the CPU"
    if len(ranks) > 1 and analysis.comparison.obstacle:
        yield f"which rank is slower: {analysis.comparison.obstacle}"
    if delay is not None:
        yield "if the ranks have different work by design, such as the stages of a pipeline"
    if delay is not None and delay.kind is DelayKind.UNKNOWN:
        yield f"by what {name_rank(delay.rank)} is slower: no kind of work explains the wait"
    if delay is not None and delay.kind is DelayKind.COMPUTE:
        yield "if its work is larger or its device slower"
    has_calls = any(one.total.work.communication_s for one in ranks)
    if has_calls and len(ranks) == 1:
        yield "how much of the communication is a wait for other ranks: their traces are missing"
    if not all(one.has_stacks for one in ranks):
        yield "which Python code runs in the gaps: the trace has no stacks"
    if any(one.step_rule is StepRule.NONE for one in ranks):
        yield "the times of single steps: the trace has no sign of steps"
    for one in ranks[:_MOST_NAMED]:
        if one.skipped or one.unreadable:
            yield (
                f"the exact times of {name_rank(one.rank)}: {one.skipped} events are over the "
                f"limit, and {one.unreadable} are not readable"
            )


def _name_activity(label: str) -> str:
    return "code that the trace does not have" if label == UNRECORDED else label


def _name_idle(one: RankAnalysis) -> str:
    name = name_rank(one.rank)
    if one.device is TracedDevice.GPU:
        return f"the GPU of {name} has nothing to do"
    return f"{name} runs no operator"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _name_device(one: RankAnalysis) -> str:
    return "the GPU" if one.device is TracedDevice.GPU else "the CPU"
