"""The verdict in three parts, with excerpts of the log, and all else that was seen or ruled out."""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.model import Claim
from gpualert_common.pages.log_excerpts import LogExcerpt, read_excerpt
from gpualert_common.pages.reported_run import ReportedRun
from gpualert_common.pages.sections._interface import Room, Section
from gpualert_common.report.text_sanitizer import MOST_ITEMS
from gpualert_common.report.verdict_view import EXIT_STATUS, EvidenceItem
from gpualert_common.structs import Struct

_CONTEXT = 10
"""Lines before and after a cited one."""
_MOST_EXCERPTS = 20


class Citation(Struct, frozen=True):
    """A place that supports a claim, its line, and the lines around it."""

    where: str
    excerpt: str
    around: LogExcerpt | None


class CitedClaim(Struct, frozen=True):
    """One claim with all places that support it."""

    text: str
    citations: tuple[Citation, ...]


class NotedList(Struct, frozen=True):
    """Sentences below a heading."""

    title: str
    items: tuple[str, ...]


class VerdictParts(Struct, frozen=True):
    """The parts of the section; an empty one is not shown."""

    claims: tuple[CitedClaim, ...]
    left_out: int
    implies: str
    cannot_decide: tuple[str, ...]
    notes: tuple[NotedList, ...]


_NOTES = ("Warnings", "Also seen", "Ruled out", "Not looked at")


def _collect(run: ReportedRun, room: Room) -> VerdictParts | None:
    parts = dict(run.view.sections())
    pairs = _pair(run)
    most = room.limit(MOST_ITEMS)
    notes = tuple(
        NotedList(title, tuple(map(str, filter(None, parts[title][:most]))))
        for title in _NOTES
        if any(parts[title])
    )
    found = VerdictParts(
        claims=tuple(_group(run, pairs[:most], room)),
        left_out=max(0, len(pairs) - most),
        implies=run.view.implies if "Implies" in parts else "",
        cannot_decide=run.view.cannot_decide if "Cannot decide" in parts else (),
        notes=notes,
    )
    return found if found.claims or found.implies or found.cannot_decide or notes else None


def _pair(run: ReportedRun) -> list[tuple[EvidenceItem, Claim]]:
    """Return the claims that are shown: as they are displayed, and as they are stored."""
    if run.verdict is None:
        return []
    shown = list(zip(run.view.shows, run.verdict.shows, strict=False))
    if run.view.disposition == "running":
        return [(one, claim) for one, claim in shown if one.where != EXIT_STATUS]
    return shown


def _group(
    run: ReportedRun, pairs: list[tuple[EvidenceItem, Claim]], room: Room
) -> Iterator[CitedClaim]:
    """Yield the claims in order; equal neighbours are one."""
    text, citations, excerpts = "", list[Citation](), dict[tuple[str, int], bool]()
    for item, claim in pairs:
        if citations and item.claim != text:
            yield CitedClaim(text, tuple(citations))
            citations = []
        text = item.claim
        around = _read_around(run, claim, excerpts, room)
        where = "" if item.where == EXIT_STATUS else item.where
        citations.append(Citation(where, item.excerpt or "", around))
    if citations:
        yield CitedClaim(text, tuple(citations))


def _read_around(
    run: ReportedRun, claim: Claim, excerpts: dict[tuple[str, int], bool], room: Room
) -> LogExcerpt | None:
    """Return the lines around a claim's place; each place once, and not more than so many."""
    place = claim.where
    if place is None or (place.file, place.offset) in excerpts:
        return None
    if len(excerpts) >= room.limit(_MOST_EXCERPTS):
        return None
    excerpts[place.file, place.offset] = True
    return read_excerpt(run.record, place, run.masks, context=room.limit(_CONTEXT))


SECTION = Section("Verdict", order=10, most_bytes=180_000, collect=_collect)
