"""Traces that are damaged, or made to do harm: a sentence, never an exception or endless memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpualert_common.codec import decode, encode
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.report.trace_text import render_analysis
from gpualert_common.traces import rank_events
from gpualert_common.traces.analysis import TraceAnalysis
from gpualert_common.traces.analyzer import analyse_traces
from gpualert_common.traces.merging import merge_traces
from gpualert_common.traces.rank_events import collect_events
from gpualert_common.traces.trace_file import UnreadableTraceError
from gpualert_common.traces.trace_source import TraceSource
from tests.traces.composed import ComposedTrace
from tests.traces.test_slow_ranks import Work, compose

HOSTILE: list[Any] = [
    *(None, True, "", "x" * 5000, "\u202e\x1b[31m", -1, 0, 1e308, -1e308, 1 << 70, -(1 << 70)),
    *([], {}, [[]], {"": {}}, [[1 << 60] * 3], ["[0]"], float("nan"), 1e-300),
]
KEYS = ["ph", "name", "cat", "pid", "tid", "ts", "dur", "id", "args"]
ARGUMENTS = ["correlation", "Input Dims", "Concrete Inputs", "In msg nelems", "dtype", "Group size"]


def run_all(folder: Path, *texts: str) -> TraceAnalysis:
    """Analyse, merge and render traces of these texts, and read the analysis back."""
    sources = []
    for index, text in enumerate(texts):
        path = folder / f"{index}.json"
        path.write_text(text, errors="surrogatepass")
        sources.append(TraceSource(f"rank:{index}", 0, str(path)))
    analysis = analyse_traces(sources)
    decode(TraceAnalysis, json.loads(json.dumps(encode(analysis))), "analysis.json")
    assert render_analysis(analysis, TextSanitizer(NoMasks()), is_full=True)
    try:
        merge_traces(sources, str(folder / "merged.json.gz"))
    except UnreadableTraceError:
        assert not (folder / "merged.json.gz").exists()
    return analysis


def compose_text() -> str:
    """Return a small trace with all sorts of events."""
    trace, _ = compose(lambda _rank, _step: Work(), ranks=2, steps=3)
    product: dict[str, Any] = {"Input Dims": [[2, 2], [2, 2]], "Concrete Inputs": []}
    reduction: dict[str, Any] = {"Input Dims": [[4]], "Input type": ["float"]}
    trace.cpu_op("aten::mm", 10, 5, **product)
    trace.annotation("gloo:all_reduce", 10, 5, **reduction)
    return trace.format()


TEXT = compose_text()


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.tuples(
            st.integers(0, 10_000),
            st.sampled_from(KEYS + ARGUMENTS),
            st.sampled_from(HOSTILE),
        ),
        max_size=12,
    )
)
def test_any_field_may_have_any_value(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, str, Any]]
) -> None:
    """The rest of the trace is analysed."""
    content = json.loads(TEXT)
    events = content["traceEvents"]
    for index, key, value in changes:
        event = events[index % len(events)]
        arguments = event.get("args")
        if key in KEYS:
            event[key] = value
        elif isinstance(arguments, dict):
            arguments[key] = value
    analysis = run_all(tmp_path_factory.mktemp("traces"), json.dumps(content), TEXT)
    assert {one.rank for one in analysis.ranks} >= {"rank:1"}


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, len(TEXT)), st.integers(0, 20), st.text(max_size=8))
def test_any_text_may_be_cut_or_replaced(
    tmp_path_factory: pytest.TempPathFactory, at: int, length: int, text: str
) -> None:
    """A file that is no JSON any more is left out with a reason."""
    changed = TEXT[:at] + text + TEXT[at + length :]
    analysis = run_all(tmp_path_factory.mktemp("traces"), changed)
    assert len(analysis.ranks) + len(analysis.left_out) == 1


def test_long_names_take_no_memory(tmp_path: Path) -> None:
    """Names, threads, types and shapes of 100,000 characters are cut: 12 MB of them take 1 MB."""
    trace = ComposedTrace()
    dims: dict[str, Any] = {"Input Dims": [[2] * 30_000, [2, 2]]}
    for number in range(30):
        long = f"{number:03}" + "x" * 100_000
        trace.cpu_op(long, number, 1)
        trace.cpu_op("aten::mm", number, 1, **dims)
        trace.events[-1]["tid"] = long
        call: dict[str, Any] = {"Collective name": long, "dtype": long}
        trace.kernel("nccl", number, 1, **call)
    path = trace.write(tmp_path / "0.json")
    tracemalloc.start()
    try:
        events = collect_events(str(path))
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert events.count == 90
    assert kept < 1 << 20


def test_a_merged_trace_is_refused(tmp_path: Path) -> None:
    """Its ranks cannot be told apart for certain."""
    path = tmp_path / "0.json"
    path.write_text(TEXT)
    source = TraceSource("rank:0", 0, str(path))
    merged = merge_traces([source], str(tmp_path / "merged.json.gz"))
    [left_out] = analyse_traces([TraceSource("x", 0, merged.path)]).left_out
    assert "analyze their own traces" in left_out.problem


def test_events_over_the_limit_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of Python functions are given up before anything else."""
    monkeypatch.setattr(rank_events, "MOST_FRAMES", 10)
    trace = ComposedTrace()
    for number in range(50):
        trace.python("train.py(1): f", number, 1)
        trace.cpu_op("aten::add", 100 + number, 1)
    [one] = run_all(tmp_path, trace.format()).ranks
    assert (one.skipped, one.events) == (40, 60)
    assert any("40 events are over the limit" in line for line in describe(one_rank(one)))


def one_rank(one: Any) -> TraceAnalysis:
    """Return an analysis of one rank."""
    return TraceAnalysis((one,))


def describe(analysis: TraceAnalysis) -> list[str]:
    """Return the lines of an analysis."""
    return render_analysis(analysis, TextSanitizer(NoMasks()))


def test_memory_does_not_depend_on_the_size_of_a_file(tmp_path: Path) -> None:
    """A file of 55 MB is merged by a process that takes 40 MB more than its imports."""
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 4000, "tid": 4000, "dur": 1.5}
    args = {"Input Dims": [[64, 64], [64, 64], []], "Input type": ["float", "float", ""]}
    batch = "".join(
        json.dumps({**event, "ts": 1e6 + number, "args": args}) + ",\n" for number in range(10_000)
    )
    path = tmp_path / "large.json"
    with path.open("w") as file:
        file.write('{"baseTimeNanoseconds": 1790857026000000000, "traceEvents": [\n')
        for _ in range(30):
            file.write(batch)
        file.write(json.dumps({**event, "ts": 1e6}) + "]}")
    assert path.stat().st_size > 55e6
    program = (
        "import resource\n"
        "from gpualert_common.traces.merging import merge_traces\n"
        "from gpualert_common.traces.trace_source import TraceSource\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"merge_traces([TraceSource('rank:0', 0, {str(path)!r})], {str(tmp_path / 'm.gz')!r})\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    used = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60
    )
    assert int(used.stdout) * 1024 < 40 << 20
