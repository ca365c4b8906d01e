"""Have the PyTorch processes of a run record a trace, all ranks at the same time."""

from __future__ import annotations

import argparse
import time

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_json, add_run
from gpualert_common.cli.new_file import replace_file, require_replaceable
from gpualert_common.cli.quantity_arguments import parse_seconds
from gpualert_common.cli.rank_arguments import add_ranks
from gpualert_common.cli.records import find_record
from gpualert_common.codec import encode
from gpualert_common.errors import UsageError
from gpualert_common.kineto.requests import DEFAULT_DURATION_S, TracedProcess, TraceRequest
from gpualert_common.kineto.stored_traces import (
    MERGED,
    StoredTrace,
    list_traces,
    open_trace_file,
)
from gpualert_common.kineto.trace_analyses import read_analysis
from gpualert_common.kineto.trace_completion import complete_trace
from gpualert_common.record import Record
from gpualert_common.report import formatting
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.report.trace_text import render_analysis
from gpualert_common.spec import SCHEMA
from gpualert_common.trace_request import take_trace
from gpualert_common.traces.trace_finding import encode_with_finding

_CHUNK_BYTES = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run, the trace, and the form of the output."""
    parser.description = (
        "Have the running PyTorch processes of a run record a trace of their operators, all ranks "
        "at the same time, and store it in the record. The run must have been started with "
        "--tracing. Do not trace a training that is about to end: a process that exits while it "
        "records or writes its trace may crash, which is a defect of PyTorch."
    )
    parser.add_argument(
        "--duration",
        type=parse_seconds,
        default=DEFAULT_DURATION_S,
        metavar="DURATION",
        help="time that is recorded, from 100ms to 60s (default: 2s)",
    )
    add_ranks(parser)
    parser.add_argument(
        "--stacks", action="store_true", help="also record the frames of Python; slower and larger"
    )
    parser.add_argument(
        "--stored",
        action="store_true",
        help="show the traces in the record instead of taking one",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="trace even if the training is about to end; it may crash",
    )
    parser.add_argument(
        "--output", metavar="FILE", help="also write the merged trace there, compressed by gzip"
    )
    parser.add_argument("--full", action="store_true", help="details of all ranks")
    add_json(parser)
    add_run(parser, "last", "last")


def execute(options: argparse.Namespace) -> int:
    """Take a trace, or show the stored ones.  Raises UsageError if there is none.

    The status is 1 if a process that should be traced has no trace.
    """
    if options.output:
        require_replaceable(options.output, "--output")
    record = find_record(options.run, options)
    if options.stored:
        traces = [one for one in list_traces(record) if one.result is not None]
        if not traces:
            raise UsageError(f"{record.run_id} has no traces")
        for one in traces:
            _complete(one)  # who asked for it was interrupted
        _print_traces(record, traces, options)
        if options.output:
            merged = [one for one in traces if one.merged_path]
            if not merged:
                raise UsageError(f"{options.output}: {record.run_id} has no merged trace")
            _write_output(options.output, merged[-1])
        return 0
    request = TraceRequest(
        at=time.time(),
        duration_s=options.duration,
        ranks=options.ranks,
        with_stacks=options.stacks,
    )

    def report_begin() -> None:
        printing.print_notes(
            f"gpualert: the recording of {options.duration:g} s starts in 5 to 10 seconds"
        )

    trace = take_trace(record, request, report_begin, is_forced=options.force)
    _complete(trace)
    _print_traces(record, [trace], options)
    if options.output:
        _write_output(options.output, trace)
    processes = () if trace.result is None else trace.result.processes
    return 1 if any(one.problem for one in processes) else 0


def _complete(trace: StoredTrace) -> None:
    """Store the analysis of a trace and the trace of all ranks, if they are missing."""
    problem = complete_trace(trace)
    if problem:
        printing.print_notes(f"gpualert: {problem}")


def _write_output(path: str, trace: StoredTrace) -> None:
    """Write the merged trace for the user.  Raises UsageError."""
    try:
        with open(open_trace_file(trace, MERGED), "rb") as file:
            replace_file(path, iter(lambda: file.read(_CHUNK_BYTES), b""))
    except OSError as error:
        raise UsageError(f"{path}: not written: no merged trace: {error.strerror}") from None


def _print_traces(record: Record, traces: list[StoredTrace], options: argparse.Namespace) -> None:
    if options.json:
        value = {"run_id": record.run_id, "traces": [_to_json(one) for one in traces]}
        printing.print_json({"schema": SCHEMA, **value})
        return
    text = TextSanitizer(NoMasks())
    for number, trace in enumerate(traces):
        lines = _format_trace(trace)
        analysis = read_analysis(trace)
        if analysis is not None:
            lines += ["", *render_analysis(analysis, text, is_full=options.full)]
        printing.print_lines(*([""] if number else []), *lines)


def _to_json(trace: StoredTrace) -> dict[str, object]:
    """Return a trace with its request and its result."""
    result = None if trace.result is None else encode(trace.result)
    analysis = read_analysis(trace)
    return {
        "name": trace.name,
        "path": trace.path,
        "merged": trace.merged_path or None,
        "request": encode(trace.request),
        "result": result,
        "analysis": None if analysis is None else encode_with_finding(analysis),
    }


def _format_trace(trace: StoredTrace) -> list[str]:
    result = trace.result
    assert result is not None
    if result.problem:
        return [f"{trace.name}: {result.problem}"]
    start = formatting.time(result.start_at, "local")
    lines = [f"{trace.name}: {result.duration_s:g} s from {start}, in {trace.path}"]
    lines += [f"  {_format_process(one)}" for one in result.processes]
    if trace.merged_path:
        lines.append(f"  all ranks: {trace.merged_path}")
    return lines


def _format_process(one: TracedProcess) -> str:
    name = one.rank.replace(":", " ") + (f", process {one.pid}" if one.pid else "")
    if one.problem:
        return f"{name}: no trace: {one.problem}"
    return f"{name}: {one.file} ({one.trace_bytes / 1e6:.1f} MB uncompressed)"
