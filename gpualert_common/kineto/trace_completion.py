"""Completion of a trace: its analysis, and one trace of all ranks."""

from __future__ import annotations

import os

from gpualert_common.errors import GPUAlertError
from gpualert_common.kineto.stored_traces import MERGED, StoredTrace
from gpualert_common.kineto.trace_analyses import analyse_stored, list_sources
from gpualert_common.kineto.trace_files import LEAST_FREE_BYTES, measure_free
from gpualert_common.traces.merging import merge_traces


def complete_trace(trace: StoredTrace) -> str:
    """Store the analysis of a trace, and a trace of all ranks; return the problem, or ""."""
    sources = list_sources(trace)
    if not sources or trace.merged_path:
        return ""
    try:
        analysis = analyse_stored(trace)
        free = measure_free(trace.path) - sum(os.path.getsize(one.path) for one in sources)
        if free < LEAST_FREE_BYTES:
            return f"{trace.path}: the traces are not merged: the disk has too little space"
        merged = merge_traces(sources, os.path.join(trace.path, MERGED))
    except GPUAlertError as error:
        return str(error)
    except OSError as error:
        return f"{trace.path}: the merged trace cannot be written: {error.strerror}"
    left_out = [*analysis.left_out, *merged.left_out]
    problems = [f"{one.rank.replace(':', ' ')}: {one.problem}" for one in left_out]
    return "; ".join(dict.fromkeys(problems))
