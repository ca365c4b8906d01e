"""Ranks compared: the one that the others wait for, by what it is slower, and near misses."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from gpualert_common.structs import replace
from gpualert_common.traces.analysis import (
    DelayKind,
    NamedTime,
    RankComparison,
    TraceAnalysis,
)
from gpualert_common.traces.analyzer import analyse_traces
from gpualert_common.traces.rank_comparison import compare_ranks
from gpualert_common.traces.trace_finding import describe_analysis
from gpualert_common.traces.trace_source import TraceSource
from tests.traces.composed import BASE_NS, ComposedTrace
from tests.traces.test_gpu_analysis import COPY, GEMM, REDUCE

STEPS = 6
RANKS = 8
COLLECTIVE_US = 1000.0
LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


class Work(NamedTuple):
    """Work of one rank in one step before its collective, in microseconds."""

    input_us: float = 500.0
    copy_us: float = 300.0
    cpu_us: float = 200.0
    compute_us: float = 8000.0

    @property
    def total_us(self) -> float:
        """Time from the start of the step to the collective."""
        return self.input_us + self.copy_us + self.cpu_us + self.compute_us


Plan = Callable[[int, int], Work]
"""The work of a rank in a step."""


def compose(plan: Plan, ranks: int = RANKS, steps: int = STEPS) -> list[ComposedTrace]:
    """Return the traces of ranks that wait for each other at the end of each step.

    The bases of their clocks differ, as those of processes that were started one after the other.
    """
    traces = []
    for rank in range(ranks):
        base_ns = BASE_NS + rank * 1_000_003
        trace = ComposedTrace(rank, ranks, base_ns=base_ns, start_us=5e12 - rank * 1_000.003)
        traces.append(trace)
    start = 0.0
    for step in range(steps):
        works = [plan(rank, step) for rank in range(ranks)]
        end = start + max(one.total_us for one in works) + COLLECTIVE_US
        for trace, work in zip(traces, works, strict=True):
            add_step(trace, step, start, work, end)
        start = end
    return traces


def add_step(trace: ComposedTrace, step: int, start: float, work: Work, end: float) -> None:
    """Add a step: data, a copy, Python, a product of matrices, and a collective until *end*."""
    trace.annotation(f"ProfilerStep#{step}", start, end - start)
    trace.annotation(LOADER, start, work.input_us)
    at = start + work.input_us
    trace.kernel(COPY, at, work.copy_us, cat="gpu_memcpy", launched=at - 2)
    at += work.copy_us
    trace.python("train.py(30): log", at, work.cpu_us)
    at += work.cpu_us
    trace.kernel(GEMM, at, work.compute_us, launched=at - 2)
    at += work.compute_us
    trace.kernel(REDUCE, at, end - at, launched=at - 100, stream=20)


def analyse(folder: Path, traces: list[ComposedTrace]) -> TraceAnalysis:
    """Return the analysis of the traces, one file for each."""
    return analyse_traces(
        [
            TraceSource(f"rank:{one.rank}", one.pid, str(one.write(folder / f"{one.rank}.json")))
            for one in traces
        ]
    )


def compare(folder: Path, plan: Plan, ranks: int = RANKS) -> RankComparison:
    """Return the comparison of ranks with this work."""
    return analyse(folder, compose(plan, ranks)).comparison


SLOW: dict[DelayKind, tuple[Work, str]] = {
    DelayKind.COMPUTE: (Work(compute_us=10_000), GEMM),
    DelayKind.COPIES: (Work(copy_us=2300), COPY),
    DelayKind.INPUT: (Work(input_us=2500), ""),
    DelayKind.CPU: (Work(cpu_us=2200), "train.py(30): log"),
}
"""By kind: work that takes 2 ms more than the others', and what takes it."""


@pytest.mark.parametrize("kind", SLOW)
@pytest.mark.parametrize("ranks", [2, 8])
def test_the_slow_rank_and_by_what_it_is_slower(
    tmp_path: Path, kind: DelayKind, ranks: int
) -> None:
    """The others wait 2 ms of each step for rank 1, which has 2 ms more of one kind of work."""
    slow, detail = SLOW[kind]
    found = compare(tmp_path, lambda rank, _: slow if rank == 1 else Work(), ranks).delay
    assert found is not None
    assert (found.rank, found.kind, found.detail) == ("rank:1", kind, detail)
    assert found.wait_s == pytest.approx(2e-3, rel=0.01)
    assert found.excess_s == pytest.approx(2e-3, rel=0.01)
    assert found.step_s == pytest.approx(12e-3, rel=0.01)


def test_the_wait_that_no_kind_explains_is_not_explained(tmp_path: Path) -> None:
    """A rank that is slower by a bit of everything is slow, and by what is not decided."""
    slow = Work(1000, 800, 700, 8500)
    found = compare(tmp_path, lambda rank, _: slow if rank == 5 else Work()).delay
    assert found is not None
    assert (found.rank, found.kind, found.excess_s) == ("rank:5", DelayKind.UNKNOWN, 0.0)


def jitter(rank: int, step: int) -> Work:
    """Return work that differs by up to 3 % from rank to rank and from step to step."""
    return Work(compute_us=8000 + random.Random(100 * rank + step).uniform(-240, 240))


NEAR_MISSES: dict[str, tuple[Plan, str]] = {
    "even ranks": (lambda _rank, _step: Work(), "within the noise"),
    "noise": (jitter, "within the noise"),
    "a bit slower": (
        lambda rank, _: Work(compute_us=8300 if rank == 3 else 8000),
        "within the noise",
    ),
    "each step another one": (
        lambda rank, step: Work(compute_us=12_000 if rank == step % RANKS else 8000),
        "within the noise|from step to step",
    ),
    "one step only": (
        lambda rank, step: Work(compute_us=20_000 if (rank, step) == (3, 2) else 8000),
        "from step to step",
    ),
}


@pytest.mark.parametrize("case", NEAR_MISSES)
def test_near_misses_are_not_decided(tmp_path: Path, case: str) -> None:
    """No rank is called slow, and the reason is given."""
    plan, reason = NEAR_MISSES[case]
    found = compare(tmp_path, plan)
    assert found.delay is None
    assert any(one in found.doubt for one in reason.split("|"))


def test_a_missing_file_leaves_the_comparison_of_the_others(tmp_path: Path) -> None:
    """The rank is named with its reason, and the slow one among the others is found."""
    traces = compose(lambda rank, _: Work(compute_us=10_000) if rank == 1 else Work())
    sources = [
        TraceSource(f"rank:{one.rank}", 0, str(one.write(tmp_path / f"{one.rank}.json")))
        for one in traces
    ]
    (tmp_path / "6.json").unlink()
    analysis = analyse_traces(sources)
    assert analysis.comparison.delay is not None
    assert analysis.comparison.delay.rank == "rank:1"
    assert [one.rank for one in analysis.left_out] == ["rank:6"]
    assert any("rank 6 is left out" in one for one in describe_analysis(analysis).shows)


STEP_NAMES = [f"ProfilerStep#{step}" for step in range(STEPS)]
OBSTACLES: dict[str, tuple[int, list[int], list[str], str]] = {
    "one rank": (1, [], [], "only one rank"),
    "a rank without communication": (4, [2], [REDUCE], "rank:2 has no communication"),
    "no communication": (4, [0, 1, 2, 3], [REDUCE], "no rank has communication"),
    "a rank without a GPU": (4, [2], [REDUCE, GEMM, COPY], "some ranks have work on a GPU"),
    "other steps": (4, [2], STEP_NAMES, "by different signs"),
}
"""Number of ranks, those that lack events, the names of these events, and the reason."""


@pytest.mark.parametrize("case", OBSTACLES)
def test_ranks_that_cannot_be_compared_are_not(tmp_path: Path, case: str) -> None:
    """The reason is given."""
    ranks, changed, names, reason = OBSTACLES[case]
    traces = compose(lambda rank, _: Work(compute_us=10_000) if rank == 1 else Work(), ranks)
    for rank in changed:
        events = traces[rank].events
        traces[rank].events = [one for one in events if one["name"] not in names]
    analysis = analyse(tmp_path, traces)
    found = analysis.comparison
    assert found.delay is None
    assert reason in found.obstacle
    finding = describe_analysis(analysis)
    assert not any("no rank is slower" in one for one in finding.shows)
    expected = f"which rank is slower: {found.obstacle}"
    assert (expected in finding.cannot_decide) == (ranks > 1)


def test_the_finding_has_three_parts(tmp_path: Path) -> None:
    """It names the rank, the cost, the cause, what follows, and what cannot be decided."""
    plan: Plan = lambda rank, _: Work(cpu_us=2200) if rank == 1 else Work()  # noqa: E731
    finding = describe_analysis(analyse(tmp_path, compose(plan)))
    assert finding.headline == (
        "rank 1 is slower by gaps in which its GPU waits for the CPU: the others wait 2.0 ms of "
        "each step of 12.0 ms for it"
    )
    assert "most of it in train.py(30): log" in finding.shows[1]
    assert finding.implies.startswith("All ranks are as slow as rank 1 is")
    assert finding.cannot_decide[0].startswith("how long a step takes without the profiler")
    assert "the stages of a pipeline" in finding.cannot_decide[1]


def find_blamed(folder: Path, kind: DelayKind, slow: list[NamedTime], fast: list[NamedTime]) -> str:
    """Return the name blamed where rank 1 is slower by a kind of work, with these kernels."""
    plan: Plan = lambda rank, _: SLOW[kind][0] if rank == 1 else Work()  # noqa: E731
    ranks = [
        replace(one, kernels=tuple(slow if one.rank == "rank:1" else fast))
        for one in analyse(folder, compose(plan, 3)).ranks
    ]
    delay = compare_ranks(ranks).delay
    assert delay is not None
    assert delay.kind is kind
    return delay.detail


def take_ms(**milliseconds: float) -> list[NamedTime]:
    """Return kernels that take so many milliseconds of each step."""
    return [NamedTime(name, STEPS, ms * STEPS / 1e3) for name, ms in milliseconds.items()]


@pytest.mark.parametrize(("names", "blamed"), [(11, GEMM), (10, "reduce_1")])
def test_a_name_for_which_another_list_has_no_place(
    tmp_path: Path, names: int, blamed: str
) -> None:
    """The name may have as much time as the shortest of a list that is full."""
    same = {f"elementwise_{number}": 1.8 for number in range(names)}
    fast = take_ms(**{GEMM: 8.0, **same})
    slow = take_ms(**{GEMM: 9.7, "reduce_1": 1.9, **same})[:12]
    assert find_blamed(tmp_path, DelayKind.COMPUTE, slow, fast) == blamed


@pytest.mark.parametrize(
    ("kind", "beside"),
    [
        (DelayKind.COPIES, "elementwise_1"),
        (DelayKind.COMPUTE, "Memcpy DtoD (Device -> Device)"),
        (DelayKind.COMPUTE, REDUCE),
    ],
)
def test_a_name_of_another_kind_of_work(tmp_path: Path, kind: DelayKind, beside: str) -> None:
    """A slow copy is not explained by a kernel that computes, nor computing by a copy."""
    fast = take_ms(**{GEMM: 8.0, COPY: 0.3})
    slow = take_ms(**{GEMM: 10.0, COPY: 2.3, beside: 5.0})
    assert find_blamed(tmp_path, kind, slow, fast) == SLOW[kind][1]
