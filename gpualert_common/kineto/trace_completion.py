"""Completion of a trace: its analysis, and one trace of all ranks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from gpualert_common.errors import GPUAlertError
from gpualert_common.kineto.stored_traces import MERGED, StoredTrace
from gpualert_common.kineto.trace_analyses import (
    analyse_stored,
    list_sources,
    read_analysis,
)
from gpualert_common.kineto.trace_files import LEAST_FREE_BYTES, measure_free
from gpualert_common.traces.analysis import UnreadRank
from gpualert_common.traces.merging import merge_traces
from gpualert_common.traces.trace_finding import name_rank
from gpualert_common.traces.trace_source import TraceSource


def complete_trace(trace: StoredTrace) -> str:
    """Store the analysis of a trace, and a trace of all ranks; return the problem, or ""."""
    sources = list_sources(trace)
    if not sources or (trace.merged_path and read_analysis(trace) is not None):
        return ""
    problems = [*_store_analysis(trace), *_store_merged(trace, sources)]
    return "; ".join(dict.fromkeys(problems))


def _store_analysis(trace: StoredTrace) -> Iterator[str]:
    """Store the analysis; yield what is missing from it, and why."""
    try:
        yield from _list_problems(analyse_stored(trace).left_out)
    except GPUAlertError as error:
        yield str(error)
    except OSError as error:
        yield f"{trace.path}: the analysis cannot be stored: {error.strerror}"


def _store_merged(trace: StoredTrace, sources: Sequence[TraceSource]) -> Iterator[str]:
    """Store the trace of all ranks, unless it is there; yield what is missing from it, and why."""
    if trace.merged_path:
        return
    try:
        free = measure_free(trace.path) - sum(os.path.getsize(one.path) for one in sources)
        if free < LEAST_FREE_BYTES:
            yield f"{trace.path}: the traces are not merged: the disk has too little space"
            return
        merged = merge_traces(sources, os.path.join(trace.path, MERGED))
        yield from _list_problems(merged.left_out)
    except GPUAlertError as error:
        yield str(error)
    except OSError as error:
        yield f"{trace.path}: the merged trace cannot be written: {error.strerror}"


def _list_problems(left_out: Iterable[UnreadRank]) -> Iterator[str]:
    return (f"{name_rank(one.rank)}: {one.problem}" for one in left_out)
