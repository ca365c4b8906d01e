"""Merging of the traces of all ranks: one time axis, own numbers, and bad files left out."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.traces.merging import MergedTrace, merge_traces
from gpualert_common.traces.trace_file import UnreadableTraceError
from gpualert_common.traces.trace_source import TraceSource
from tests.traces.composed import BASE_NS, START_US, ComposedTrace

EXTERNAL: dict[str, Any] = {"External id": 5}


def compose(rank: int, **place: Any) -> ComposedTrace:
    """Return a trace of one operator that launches one kernel, on the first GPU of its process."""
    trace = ComposedTrace(rank, 2, **place)
    trace.cpu_op("aten::mm", 100, 20, **EXTERNAL)
    trace.kernel("sm90_gemm", 110, 50, launched=105, **EXTERNAL)
    return trace


def merge(folder: Path, *traces: ComposedTrace) -> tuple[MergedTrace, dict[str, Any]]:
    """Return the result of merging these traces, and the content of the file."""
    sources = [
        TraceSource(f"rank:{one.rank}", one.pid, str(one.write(folder / f"{index}.json")))
        for index, one in enumerate(traces)
    ]
    return merge_sources(folder, *sources)


def merge_sources(folder: Path, *sources: TraceSource) -> tuple[MergedTrace, dict[str, Any]]:
    """Return the result of merging these files, and the content of the merged one."""
    merged = merge_traces(sources, str(folder / "merged.json.gz"))
    return merged, json.loads(gzip.decompress(Path(merged.path).read_bytes()))


def find(content: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the events of a name, in the order of the ranks."""
    return [one for one in content["traceEvents"] if one["name"] == name]


def test_ranks_with_different_bases_share_one_time_axis(tmp_path: Path) -> None:
    """Each event is at its time since the epoch, also for a file that counts from the epoch."""
    late = compose(1, base_ns=BASE_NS - 7 * 10**9, start_us=START_US + 7e6 + 30)
    old = compose(2, base_ns=0, start_us=BASE_NS / 1000 + START_US + 1000)
    _, content = merge(tmp_path, compose(0), late, old)
    first, second, third = (one["ts"] for one in find(content, "aten::mm"))
    assert second - first == pytest.approx(30, abs=0.01)
    assert third - first == pytest.approx(1000, abs=0.6)  # a time since the epoch has no more bits
    at_ns = content["baseTimeNanoseconds"] + first * 1000
    assert at_ns == pytest.approx(BASE_NS + (START_US + 100) * 1000, abs=1000)


def test_a_base_behind_the_events_counts(tmp_path: Path) -> None:
    """A trace that another program wrote again may have its fields in any order."""
    text = json.loads(compose(1).format())
    base = text.pop("baseTimeNanoseconds")
    path = tmp_path / "reordered.json"
    path.write_text(json.dumps({**text, "baseTimeNanoseconds": base}))
    first = compose(0).write(tmp_path / "0.json")
    sources = TraceSource("rank:0", 1, str(first)), TraceSource("rank:1", 2, str(path))
    _, content = merge_sources(tmp_path, *sources)
    times = [one["ts"] for one in find(content, "aten::mm")]
    assert times[0] == pytest.approx(times[1], abs=0.01)


def test_tracks_flows_and_correlations_of_two_ranks_are_distinct(tmp_path: Path) -> None:
    """Both ranks use GPU 0, flow 1 and correlation 1 in their own files; here nothing is shared."""
    _, content = merge(tmp_path, compose(0), compose(1))
    for name in ("sm90_gemm", "aten::mm"):
        assert len({one["pid"] for one in find(content, name)}) == 2
    starts, ends = ([one["id"] for one in find(content, "ac2g") if one["ph"] == ph] for ph in "sf")
    assert starts == ends
    assert len(set(starts)) == 2
    correlations = [one["args"]["correlation"] for one in find(content, "sm90_gemm")]
    launches = [one["args"]["correlation"] for one in find(content, "cudaLaunchKernel")]
    assert correlations == launches
    assert len(set(correlations)) == 2


def test_tracks_have_the_names_of_their_ranks(tmp_path: Path) -> None:
    """A process keeps its id, and its tracks stand together in the order of the ranks."""
    merged, content = merge(tmp_path, compose(0), compose(1))
    assert merged.ranks == ("rank:0", "rank:1")
    names = {one["pid"]: one["args"]["name"] for one in find(content, "process_name")}
    assert sorted(names.values()) == [
        *("rank 0 GPU 0", "rank 0 python (4000)"),
        *("rank 1 GPU 0", "rank 1 python (4001)"),
    ]
    assert {4000, 4001} < set(names)
    order = {one["pid"]: one["args"]["sort_index"] for one in find(content, "process_sort_index")}
    assert [names[pid] for pid in sorted(order, key=lambda pid: order[pid])] == [
        *("rank 0 python (4000)", "rank 0 GPU 0"),
        *("rank 1 python (4001)", "rank 1 GPU 0"),
    ]


def test_two_processes_with_one_id_have_two_tracks(tmp_path: Path) -> None:
    """Ranks in two containers may both be process 4000."""
    _, content = merge(tmp_path, compose(0, pid=4000), compose(1, pid=4000))
    assert len({one["pid"] for one in find(content, "aten::mm")}) == 2


CUTS: dict[str, Callable[[str], str]] = {
    "cut in an event": lambda text: text[: len(text) // 2],
    "cut before the last bracket": lambda text: text[:-1],
    "cut in the head": lambda text: text[:30],
    "empty": lambda _: "",
    "no JSON": lambda _: "Traceback (most recent call last):\n",
    "other JSON": lambda _: '{"events": []}',
    "no events": lambda _: '{"traceEvents": []}',
    "garbage in the middle": lambda text: text.replace('"aten::mm",', '"aten::mm"', 1),
    "nested too deeply": lambda text: text.replace('"cbid": 211', '"x": ' + "[" * 100_000, 1),
}


@pytest.mark.parametrize("case", CUTS)
def test_a_damaged_trace_is_left_out_and_the_others_stay(tmp_path: Path, case: str) -> None:
    """No event of a bad file is in the merged trace, which names the file and the reason."""
    bad = tmp_path / "bad.json"
    bad.write_text(CUTS[case](compose(1).format()))
    good = [compose(rank).write(tmp_path / f"{rank}.json.gz") for rank in (0, 2)]
    sources = [TraceSource("rank:0", 1, str(good[0])), TraceSource("rank:1", 2, str(bad))]
    merged, content = merge_sources(tmp_path, *sources, TraceSource("rank:2", 3, str(good[1])))
    assert merged.ranks == ("rank:0", "rank:2")
    assert content["mergedRanks"] == ["rank:0", "rank:2"]
    [left_out] = merged.left_out
    assert left_out.rank == "rank:1"
    assert left_out.problem.startswith(str(bad))
    assert len(find(content, "aten::mm")) == 2


def test_a_large_trace_that_is_cut_leaves_no_event(tmp_path: Path) -> None:
    """The end is missing after many batches have been written; they are taken back."""
    bad = compose(1)
    dims: dict[str, Any] = {"Input Dims": [[64, 64], [64, 64], []]}
    for number in range(25_000):
        bad.cpu_op("aten::add", number, 1, **dims)
    path = tmp_path / "bad.json"
    path.write_text(bad.format()[:-40])
    assert path.stat().st_size > 2.5e6
    first, last = (compose(rank).write(tmp_path / f"{rank}.json") for rank in (0, 2))
    sources = [("rank:0", first), ("rank:1", path), ("rank:2", last)]
    merged, content = merge_sources(tmp_path, *(TraceSource(r, 0, str(p)) for r, p in sources))
    assert merged.ranks == ("rank:0", "rank:2")
    assert not find(content, "aten::add")
    assert len(find(content, "sm90_gemm")) == 2


def test_events_with_wrong_types_are_counted_and_left_out(tmp_path: Path) -> None:
    """The rest of the trace stays."""
    trace = compose(0)
    for field, value in (("ts", "soon"), ("ts", 1e30), ("args", []), ("ph", 5), ("pid", [1])):
        trace.cpu_op("aten::bad", 100, 1)
        trace.events[-1][field] = value
    merged, content = merge(tmp_path, trace)
    assert merged.unreadable == 5
    assert not find(content, "aten::bad")
    assert len(find(content, "aten::mm")) == 1


def test_numbers_and_texts_that_json_has_not_are_replaced(tmp_path: Path) -> None:
    """NaN, bytes that are no UTF-8 and halves of surrogates do not cost the trace."""
    trace = compose(0)
    trace.kernel("nan", 200, 1, occupancy=float("nan"))
    trace.cpu_op("half \ud800", 300, 1)
    path = tmp_path / "0.json"
    path.write_bytes(trace.format().encode().replace(b"sm90_gemm", b"sm90_\xff_gemm"))
    _, content = merge_sources(tmp_path, TraceSource("rank:0", 1, str(path)))
    assert find(content, "nan")[0]["args"]["occupancy"] is None
    assert find(content, "sm90_\ufffd_gemm")


@pytest.mark.parametrize("number", ["inf", "-inf", "nan", "-nan", "inf\n  ", "NaN", "-Infinity"])
def test_numbers_of_cpp_are_replaced(tmp_path: Path, number: str) -> None:
    """Kineto writes ``inf`` where it divides by zero; texts that look like it stay."""
    names = ["x: inf, y", 'x": inf, y', ": inf, y", '\\": nan}', "inf", "nan"]
    occupancy: dict[str, Any] = {"blocks per SM": 1234.5, "warps per SM": 1234.5}
    trace = compose(0)
    for name in names:
        trace.kernel(name, 200, 1, **occupancy)
    text = trace.format()
    assert text.count("1234.5") == 2 * len(names)
    path = tmp_path / "0.json"
    path.write_text(text.replace("1234.5", number))
    merged, content = merge_sources(tmp_path, TraceSource("rank:0", 1, str(path)))
    assert merged.unreadable == 0
    for name in names:
        (event,) = find(content, name)
        assert event["args"]["blocks per SM"] is None
        assert event["args"]["warps per SM"] is None


def test_messages_of_kineto_with_quotes_behind_the_events(tmp_path: Path) -> None:
    """They are no JSON then; the events before them are complete.  A cut text is damage."""
    text = compose(1).format()
    message = '"WARNING": ["no field "x" in {"y"}"],\n  "traceName"'
    broken = text.replace('"traceName"', message)
    assert broken != text
    path = tmp_path / "0.json"
    source = TraceSource("rank:0", 1, str(path))
    path.write_text(broken)
    _, content = merge_sources(tmp_path, source)
    assert find(content, "aten::mm")
    path.write_text(broken[:-1])
    with pytest.raises(UnreadableTraceError, match="cut or damaged"):
        merge_sources(tmp_path, source)


def test_a_merged_trace_is_not_merged_again(tmp_path: Path) -> None:
    """It has the tracks of several ranks, which would be those of one."""
    merged, _ = merge(tmp_path, compose(0), compose(1))
    Path(merged.path).rename(tmp_path / "all.json.gz")
    sources = [
        TraceSource("rank:0", 1, str(tmp_path / "0.json")),
        TraceSource("all", 2, str(tmp_path / "all.json.gz")),
    ]
    again, content = merge_sources(tmp_path, *sources)
    assert again.ranks == ("rank:0",)
    assert len(find(content, "aten::mm")) == 1
    assert "all.json.gz has several ranks" in again.left_out[0].problem


def test_files_beside_the_merged_trace_stay(tmp_path: Path) -> None:
    """A trace may have any name, also that of an unfinished file."""
    path = compose(0).write(tmp_path / "merged.json.gz.part")
    content = path.read_bytes()
    merge_sources(tmp_path, TraceSource("rank:0", 1, str(path)))
    assert path.read_bytes() == content
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "merged.json.gz",
        "merged.json.gz.part",
    ]


def test_a_trace_of_another_time_is_left_out(tmp_path: Path) -> None:
    """An old file, or a clock that is hours off, would stretch the axis until nothing is seen."""
    merged, _ = merge(tmp_path, compose(0), compose(1), compose(2, base_ns=BASE_NS - 10**13))
    assert merged.ranks == ("rank:0", "rank:1")
    assert "10000 s apart from the other ranks" in merged.left_out[0].problem


def test_without_a_readable_trace_there_is_an_error_and_no_file(tmp_path: Path) -> None:
    """The message names each file with its reason."""
    missing, pipe = tmp_path / "missing.json", tmp_path / "pipe.json"
    os.mkfifo(pipe)
    sources = [TraceSource(one.stem, 1, str(one)) for one in (missing, pipe)]
    with pytest.raises(UnreadableTraceError, match=r"missing.json cannot .*pipe.json is not a"):
        merge_traces(sources, str(tmp_path / "merged.json.gz"))
    assert [one.name for one in tmp_path.iterdir()] == ["pipe.json"]


def test_a_bomb_of_gzip_ends_with_a_reason(tmp_path: Path) -> None:
    """A small file that holds a GiB of spaces, or of brackets, is given up after some MiB."""
    for index, fill in enumerate((b" ", b"{", b"[")):
        path = tmp_path / f"{index}.json.gz"
        with gzip.open(path, "wb", compresslevel=1) as file:
            file.write(b'{"traceEvents":[')
            for _ in range(64):
                file.write(fill * (1 << 20))
        with pytest.raises(UnreadableTraceError, match="no complete event behind byte 16"):
            merge_sources(tmp_path, TraceSource("rank:0", 1, str(path)))
