"""Analyses of stored traces: each made once, and kept beside its trace as ``analysis.json``."""

from __future__ import annotations

import os

from gpualert_common.codec import decode, encode
from gpualert_common.errors import RecordError
from gpualert_common.kineto.stored_traces import (
    StoredTrace,
    list_names,
    open_trace,
    read_trace,
)
from gpualert_common.record import Record
from gpualert_common.record.directory import Directory
from gpualert_common.structs import Struct
from gpualert_common.traces.analysis import TraceAnalysis
from gpualert_common.traces.analyzer import analyse_traces
from gpualert_common.traces.trace_source import TraceSource

ANALYSIS = "analysis.json"
_MOST_NEWEST = 20
"""Traces that are looked through for an analysis, from the newest."""


class StoredAnalysis(Struct, frozen=True):
    """An analysis in a record, and the trace that it is about."""

    trace: StoredTrace
    analysis: TraceAnalysis


def analyse_stored(trace: StoredTrace) -> TraceAnalysis:
    """Return the analysis of a trace, and keep it in the record.

    Raises RecordError if the folder of the trace cannot be opened, OSError if the analysis cannot
    be stored.
    """
    folder = Directory.open(trace.path)
    try:
        known = _read(folder)
        if known is not None:
            return known
        analysis = analyse_traces(list_sources(trace))
        if analysis.ranks:
            folder.write_json(ANALYSIS, encode(analysis))
        return analysis
    finally:
        folder.close()


def read_analysis(trace: StoredTrace) -> TraceAnalysis | None:
    """Return the analysis of a trace that is kept; None for none, and for a damaged one."""
    try:
        folder = Directory.open(trace.path)
    except RecordError:
        return None
    try:
        return _read(folder)
    finally:
        folder.close()


def list_sources(trace: StoredTrace) -> list[TraceSource]:
    """Return the files of the ranks of a trace."""
    processes = () if trace.result is None else trace.result.processes
    return [
        TraceSource(one.rank, one.pid, os.path.join(trace.path, os.path.basename(one.file)))
        for one in processes
        if one.file
    ]


def read_newest_analysis(record: Record) -> StoredAnalysis | None:
    """Return the newest analysis in a record; None if there is none.  It makes none."""
    for name in list_names(record)[: -_MOST_NEWEST - 1 : -1]:
        try:
            folder = open_trace(record, name)
        except RecordError:
            continue
        try:
            found = _read(folder)
            if found is not None:
                return StoredAnalysis(read_trace(record, name), found)
        except RecordError:
            continue
        finally:
            folder.close()
    return None


def _read(folder: Directory) -> TraceAnalysis | None:
    """Return the analysis in the folder of a trace; None for none, and for a damaged one."""
    try:
        fields = folder.read_json(ANALYSIS)
        where = os.path.join(folder.path, ANALYSIS)
        return None if fields is None else decode(TraceAnalysis, fields, where)
    except RecordError:
        return None
