"""Analyzer of the traces of a run: one rank after the other, then all compared."""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.traces.analysis import TraceAnalysis, UnreadRank
from gpualert_common.traces.rank_comparison import compare_ranks
from gpualert_common.traces.rank_events import RankEvents, collect_events
from gpualert_common.traces.reduction import reduce_rank
from gpualert_common.traces.trace_file import UnreadableTraceError
from gpualert_common.traces.trace_source import TraceSource


def analyse_traces(sources: Sequence[TraceSource]) -> TraceAnalysis:
    """Return the analysis of these traces.

    A trace that cannot be read is left out and named.  Memory is that of one rank, at most 1 GiB.
    """
    ranks, left_out = [], []
    for source in sources:
        try:
            events = collect_events(source.path)
            _require_work(source, events)
        except UnreadableTraceError as error:
            left_out.append(UnreadRank(source.rank, source.path, str(error)))
            continue
        ranks.append(reduce_rank(source, events))
    return TraceAnalysis(tuple(ranks), tuple(left_out), compare_ranks(ranks))


def _require_work(source: TraceSource, events: RankEvents) -> None:
    """Raise UnreadableTraceError for a trace that cannot be analysed."""
    if events.head.is_merged:
        raise UnreadableTraceError(
            f"{source.path} has several ranks: analyze their own traces, not the merged one"
        )
    if not events.count:
        raise UnreadableTraceError(f"{source.path} has no events of work")
