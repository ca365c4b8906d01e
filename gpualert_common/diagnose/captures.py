"""Captures as evidence: the profiles and traces that a run took when its steps became slow."""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.diagnose.evidence import Capture
from gpualert_common.diagnose.warning_state import SLOW, WarningState
from gpualert_common.kineto.stored_traces import list_traces
from gpualert_common.kineto.trace_analyses import read_analysis
from gpualert_common.profiles.profile_files import read_profiles
from gpualert_common.profiles.rank_differences import find_differences
from gpualert_common.profiles.rank_texts import describe_findings
from gpualert_common.record import Record
from gpualert_common.spec import ON_REQUEST
from gpualert_common.structs import replace
from gpualert_common.traces.trace_finding import describe_analysis


def read_captures(record: Record, cwd: str | None) -> tuple[Capture, ...]:
    """Return the captures that nobody requested, oldest first."""
    is_lasting = WarningState(record.events()).is_active(SLOW)
    found = (*_read_profiles(record, cwd), *_read_traces(record))
    lasting = (replace(one, is_lasting=is_lasting) for one in found)
    return tuple(sorted(lasting, key=lambda one: one.at))


def _read_profiles(record: Record, cwd: str | None) -> Iterator[Capture]:
    for _path, profile in read_profiles(record):
        if profile.reason == ON_REQUEST:
            continue
        found = find_differences(profile)
        alone = next((one.ranks for one in found if not one.is_wait), ())
        rank = profile.ranks[alone[0]].number if len(alone) == 1 else None
        text = describe_findings(profile, found, cwd)[0]
        yield Capture("profile", profile.at, profile.reason, text, rank)


def _read_traces(record: Record) -> Iterator[Capture]:
    for trace in list_traces(record):
        request = trace.request
        analysis = None if request.reason == ON_REQUEST else read_analysis(trace)
        if analysis is None:
            continue
        delay = analysis.comparison.delay
        kind, _colon, number = ("", "", "") if delay is None else delay.rank.partition(":")
        rank = int(number) if kind == "rank" and number.isdecimal() else None
        text = describe_analysis(analysis).headline
        yield Capture("trace", request.at, request.reason, text, rank)
