"""Analyses in the record of a run, and the section of the report that shows the newest one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gpualert_common.codec import encode
from gpualert_common.kineto.requests import TracedProcess, TraceRequest, TraceResult
from gpualert_common.kineto.stored_traces import StoredTrace, add_request, open_trace, read_trace
from gpualert_common.kineto.trace_analyses import (
    ANALYSIS,
    analyse_stored,
    read_analysis,
    read_newest_analysis,
)
from gpualert_common.kineto.trace_completion import complete_trace
from gpualert_common.record import Record
from gpualert_common.run_report import make_report
from gpualert_common.spec import ON_REQUEST
from tests.pages.page_outline import PageOutline
from tests.scenarios.scene import Scene
from tests.traces.composed import ComposedTrace
from tests.traces.test_slow_ranks import Work, compose

HOSTILE = "<script>alert(1)</script><img src=x>\u202e\x1b[31m{{ 7*7 }}"


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Return the record of a short run."""
    return Scene(code=1, seconds=30.0).record(tmp_path)


def store(
    record: Record, traces: list[ComposedTrace], at: float = 1.5e9, reason: str = ON_REQUEST
) -> StoredTrace:
    """Return a trace in the record, as the daemon leaves it."""
    name = add_request(record, TraceRequest(at=at, reason=reason))
    folder = open_trace(record, name)
    processes = []
    for one in traces:
        file = f"rank-{one.rank}.json.gz"
        one.write(Path(folder.path, file))
        processes.append(TracedProcess(f"rank:{one.rank}", one.pid, file))
    result = TraceResult(start_at=at, duration_s=2.0, processes=tuple(processes))
    folder.write_json("result.json", encode(result))
    return read_trace(record, name)


def slow_traces() -> list[ComposedTrace]:
    """Return the traces of four ranks, of which rank 1 logs for longer."""
    return compose(lambda rank, _: Work(cpu_us=2200) if rank == 1 else Work(), 4)


def test_an_analysis_is_made_once(record: Record) -> None:
    """It stays when the files of the ranks have been removed."""
    trace = store(record, slow_traces())
    assert read_newest_analysis(record) is None
    first = analyse_stored(trace)
    for file in Path(trace.path).glob("*.gz"):
        file.unlink()
    assert analyse_stored(trace) == first
    newest = read_newest_analysis(record)
    assert newest is not None
    assert (newest.trace.name, newest.analysis) == (trace.name, first)


def test_an_analysis_that_cannot_be_stored(record: Record) -> None:
    """It is a problem of its own; the ranks are merged all the same, and it is made later."""
    trace = store(record, slow_traces())
    obstacle = Path(trace.path, f".{ANALYSIS}.{os.getpid()}")
    obstacle.mkdir()
    for _try in range(2):
        problem = complete_trace(trace)
        assert problem == f"{trace.path}: the analysis cannot be stored: Is a directory"
        assert trace.merged_path
        assert read_analysis(trace) is None
    obstacle.rmdir()
    assert complete_trace(trace) == ""
    assert read_analysis(trace) is not None


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": 99}', '{"schema": 1, "ranks": 5}'])
def test_a_damaged_analysis_is_made_again(record: Record, content: str) -> None:
    """The report goes on without it until then, and shows an older one."""
    old = store(record, slow_traces())
    analyse_stored(old)
    trace = store(record, slow_traces(), at=1.6e9)
    Path(trace.path, ANALYSIS).write_text(content)
    newest = read_newest_analysis(record)
    assert newest is not None
    assert newest.trace.name == old.name
    delay = analyse_stored(trace).comparison.delay
    assert delay is not None
    assert delay.rank == "rank:1"
    assert json.loads(Path(trace.path, ANALYSIS).read_text())["ranks"]


def test_the_report_has_a_section(record: Record) -> None:
    """It names the slow rank and the reason, and has a row for each rank."""
    analyse_stored(store(record, slow_traces()))
    page = PageOutline(make_report(record))
    [section] = [one for one in page.find("section") if one.id == "step_times"]
    assert "Rank 1 is slower by gaps in which its GPU waits for the CPU" in section.text
    assert "train.py(30): log" in section.text
    rows = [one for one in page.find("tr") if section in one.parents]
    assert len(rows) == 1 + 4
    assert page.faults == []


def test_names_of_a_trace_are_text_in_the_report(record: Record) -> None:
    """Names of kernels, operators and ranks come from the training; many ranks are counted."""
    traces = compose(lambda rank, _: Work(cpu_us=2200) if rank == 1 else Work(), ranks=48, steps=3)
    for one in traces:
        for event in one.events:
            if event["name"] == "train.py(30): log":
                event["name"] = HOSTILE
    analyse_stored(store(record, traces))
    text = make_report(record)
    assert "<script>alert(1)" not in text
    assert "<img src=x>" not in text
    assert "\u202e" not in text
    page = PageOutline(text)
    assert page.faults == []
    [section] = [one for one in page.find("section") if one.id == "step_times"]
    assert "alert(1)" in section.text
    assert "And 16 more ranks" in section.text
