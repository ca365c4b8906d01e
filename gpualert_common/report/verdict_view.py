"""A verdict prepared for display: its parts in plain words, bounded and safe to show.

All displays are rendered from one view: a terminal page, a Markdown page, a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from gpualert_common.causes import NO_CAUSES
from gpualert_common.model import Claim, SecondaryCause, Verdict
from gpualert_common.report.formatting import duration, hours
from gpualert_common.report.text_sanitizer import MOST_ITEMS, TextSanitizer
from gpualert_common.report.wording import (
    choose_tone,
    describe_attribution,
    describe_family,
    describe_outcome,
    describe_retry,
)
from gpualert_common.structs import Struct, replace

UNKNOWN = "unknown"
EXIT_STATUS = "exit status"
"""Place of a claim that cites nothing to look up."""
_MOST_NUMBER = 1e15


class EvidenceItem(Struct, frozen=True):
    """One claim of a verdict.  ``where`` is such as "output.log:812, rank 3", or empty."""

    claim: str
    where: str
    excerpt: str | None = None


class VerdictView(Struct, frozen=True, kw_only=True):
    """The parts of a verdict; each text on one line, empty where nothing is known.

    ``state`` is that of the engine's task.  ``ruled_out`` are sentences about families of failures,
    ``unavailable`` names sources, such as "nvml (no driver)".  GPU times are in seconds, None where
    they were not measured.
    """

    state: str | None
    disposition: str
    cause: str
    headline: str
    confidence: float
    attribution: str
    retry: str
    implies: str
    cannot_decide: tuple[str, ...]
    do: tuple[str, ...]
    shows: tuple[EvidenceItem, ...]
    warnings: tuple[str, ...]
    secondary: tuple[SecondaryCause, ...] = ()
    ruled_out: tuple[str, ...] = ()
    unavailable: tuple[str, ...] = ()
    gpu_seconds: float | None = None
    wasted_gpu_seconds: float | None = None
    noun: ClassVar[str] = "run"
    """The thing that the verdict is about, in sentences."""

    @property
    def has_verdict(self) -> bool:
        """False if the classifier failed, so that only the run's end is known."""
        return self.retry != UNKNOWN

    @property
    def is_healthy(self) -> bool:
        """True if no failure is known."""
        completed = self.disposition == "completed" and self.cause == "none"
        return completed and self.state in (None, "success")

    @property
    def outcome(self) -> str:
        """The words that complete "the run ..."."""
        return describe_outcome(self.disposition, self.state)

    @property
    def tone(self) -> str:
        """good, bad or odd."""
        return choose_tone(self.disposition, is_healthy=self.is_healthy)

    @property
    def gpu_hours(self) -> str:
        """The GPU-hours of the run, empty where they were not measured."""
        if self.gpu_seconds is None:
            return ""
        total, wasted = hours(self.gpu_seconds), self.wasted_gpu_seconds
        return total if wasted is None else f"{total}, {hours(wasted)} of them wasted"

    def summarize(self, lasted_s: float | None = None) -> str:
        """Return outcome, attribution and the use of a retry in sentences."""
        after = "" if lasted_s is None or self.disposition == "not_started" else duration(lasted_s)
        if self.disposition == "running":
            return f"It has been running for {after}." if after else "It is still running."
        sentences = [f"The {self.noun} {self.outcome}{after and f' after {after}'}."]
        if self.has_verdict and not self.is_healthy and self.cause not in NO_CAUSES:
            sentences.append(f"At fault: {describe_attribution(self.attribution) or 'not known'}.")
            retry = describe_retry(self.retry)
            sentences += [f"A retry {retry}."] if retry else []
            sentences.append(f"Cause {self.cause}, confidence {self.confidence:.2f}.")
        return " ".join(sentences)

    def sections(self) -> Iterator[tuple[str, tuple[str | EvidenceItem, ...]]]:
        """Yield title and items of each section, the most important first; items may be empty.

        A claim that repeats the one before it is shown as "again"; a warning that repeats a claim
        or another cause is left out.
        """
        in_progress = self.disposition == "running" and (
            self.cause == "none" or not self.has_verdict
        )
        claims = [one.claim for one in self.shows]
        others = [one.because for one in self.secondary]
        warnings = _distinct(
            text for text in self.warnings if not _repeats(text, [*claims, *others])
        )
        if in_progress:
            yield "Warnings", warnings
        elif not self.is_healthy:
            yield "Do", self.do
        shows = _mark_repeated(self.shows)
        yield "Shows", tuple(one for one in shows if not in_progress or one.where != EXIT_STATUS)
        if not in_progress:
            yield "Implies", (self.implies,)
            yield "Cannot decide", self.cannot_decide
        yield "Also seen", _distinct(_describe_cause(one, claims) for one in self.secondary)
        yield "Ruled out", self.ruled_out
        if not in_progress:
            yield "Warnings", warnings
        unavailable = [
            one for one in self.unavailable if not in_progress or not one.startswith(EXIT_STATUS)
        ]
        yield "Not looked at", (", ".join(unavailable),)


def view_verdict(verdict: Verdict, text: TextSanitizer) -> VerdictView:
    """Return the view of a verdict on a log that belongs to no run."""
    return VerdictView(state=None, **verdict_fields(verdict, text))


def verdict_fields(verdict: Verdict, text: TextSanitizer) -> dict[str, Any]:
    """Return the fields of a view that a verdict gives."""
    return {
        "disposition": str(verdict.disposition),
        "cause": text.line(verdict.cause) or UNKNOWN,
        "headline": text.line(verdict.headline) or "No verdict",
        "confidence": verdict.confidence,
        "attribution": str(verdict.attribution),
        "retry": str(verdict.retry),
        "implies": text.prose(verdict.implies),
        "cannot_decide": text.paragraphs(verdict.cannot_decide),
        "do": text.paragraphs(verdict.do),
        "shows": tuple(evidence_item(claim, text) for claim in verdict.shows[:MOST_ITEMS]),
        "warnings": text.paragraphs([warning.text for warning in verdict.warnings]),
        "secondary": tuple(
            SecondaryCause(text.line(one.cause), text.line(one.because))
            for one in verdict.secondary[:MOST_ITEMS]
            if one.cause not in NO_CAUSES
        ),
        "ruled_out": _distinct(_ruled_out(verdict, text)),
        "unavailable": tuple(_unavailable(verdict, text)),
        "gpu_seconds": to_finite_number(verdict.measured.get("gpu_seconds")),
        "wasted_gpu_seconds": to_finite_number(verdict.measured.get("wasted_gpu_seconds")),
    }


def to_finite_number(value: object) -> float | None:
    """Return ``value`` where it is a number that arithmetic can use."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < _MOST_NUMBER else None


def evidence_item(claim: Claim, text: TextSanitizer) -> EvidenceItem:
    """Return a claim with the place where it was read."""
    where = text.line(claim.source).replace("_", " ")
    if claim.where is not None:
        line, offset = claim.where.line, claim.where.offset
        where = text.line(claim.where.file) + (f", byte {offset}" if line is None else f":{line}")
    where += "" if claim.rank is None else f", rank {claim.rank}"
    return EvidenceItem(text.line(claim.claim), where, text.excerpt(claim.excerpt) or None)


def _mark_repeated(items: Iterable[EvidenceItem]) -> Iterator[EvidenceItem]:
    before = None
    for one in items:
        yield replace(one, claim="again") if one.claim == before else one
        before = one.claim


def _distinct(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


def _describe_cause(one: SecondaryCause, claims: Sequence[str]) -> str:
    """Return another cause by its name, with what the claims do not say of it."""
    because = one.because
    return f"{one.cause}: {because.partition(': ')[0] if _repeats(because, claims) else because}"


def _ruled_out(verdict: Verdict, text: TextSanitizer) -> Iterator[str]:
    """Yield each family in words, with the reason; of the cause's own family other forms are
    meant."""
    for one in verdict.ruled_out[:MOST_ITEMS]:
        if one.family != verdict.family:
            yield f"{describe_family(text.line(one.family))}: {text.line(one.because)}"


def _repeats(text: str, others: Sequence[str]) -> bool:
    return any(one and one in text for one in others)


def _unavailable(verdict: Verdict, text: TextSanitizer) -> Iterator[str]:
    names: dict[str, list[str]] = {}
    for one in verdict.sources[:MOST_ITEMS]:
        if not one.available:
            name = text.line(one.name).replace("_", " ")
            names.setdefault(text.line(one.why), []).append(name)
    for why, found in names.items():
        listed = ", ".join(found)
        yield f"{listed} ({why})" if why else listed
