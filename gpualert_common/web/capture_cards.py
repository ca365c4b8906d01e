"""Newest trace and newest profile of a run, in sentences, for its page; the report has more."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from gpualert_common.errors import RecordError
from gpualert_common.kineto.trace_analyses import read_newest_analysis
from gpualert_common.profiles.profile_files import list_profiles, read_profile
from gpualert_common.record import Record
from gpualert_common.report.formatting import time
from gpualert_common.report.profile_lines import list_head
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.structs import Struct
from gpualert_common.traces.trace_finding import describe_analysis

_MOST_SENTENCES = 6
_MOST_KEPT = 256
"""Profiles whose sentences are kept in memory."""


class CaptureCard(Struct, frozen=True):
    """One capture: its kind for people, its time or its extent, and its finding in sentences."""

    title: str
    note: str
    sentences: tuple[str, ...]


def list_capture_cards(record: Record, text: TextSanitizer) -> Iterator[CaptureCard]:
    """Yield the newest trace and the newest profile of a record, as far as it has them."""
    newest = read_newest_analysis(record)
    if newest is not None:
        finding = describe_analysis(newest.analysis)
        sentences = (finding.headline[:1].upper() + finding.headline[1:], *finding.shows)
        yield _make_card("Trace", time(newest.trace.request.at, "local"), sentences, text)
    for name in reversed(list_profiles(record)):
        try:
            note, *head = _read_head(record.path, name)
        except RecordError:
            continue
        yield _make_card("Profile", note, tuple(head), text)
        return


@lru_cache(maxsize=_MOST_KEPT)
def _read_head(path: str, name: str) -> tuple[str, ...]:
    """Return the sentences about a stored profile, which never changes; a page asks for them every
    few seconds.  Raises RecordError."""
    record = Record.open(path)
    try:
        head = list_head(read_profile(record, name), record.spec.cwd)
        return tuple(islice(head, 1 + _MOST_SENTENCES))
    finally:
        record.close()


def _make_card(
    title: str, note: str, sentences: tuple[str, ...], text: TextSanitizer
) -> CaptureCard:
    return CaptureCard(title, text.line(note), tuple(map(text.prose, sentences[:_MOST_SENTENCES])))
