"""A verdict as people are told it: its parts in plain words, bounded and safe to show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from gpualert_common.model import (
    Claim,
    RuledOutFamily,
    SecondaryCause,
    SourceStatus,
    Verdict,
    VerdictWarning,
)
from gpualert_common.report import phrases
from gpualert_common.report.words import duration, hours, one_line, safe_line

if TYPE_CHECKING:
    from gpualert_common.report.alert import Alert

LINE = 500
PROSE = 2000
STATUS = "exit status"
"""Where a claim was read that is about nothing else."""
_MOST_READ = 1 << 16
"""Of any one text; what follows is not even looked at."""
_MOST_ITEMS = 50
"""Claims, pieces of advice, warnings: more of them is a broken record, not a better message."""
_MOST_NUMBER = 1e15
"""No time and no line is beyond it, and no arithmetic fails before it."""


class Masks(Protocol):
    """What is needed of a redactor: :class:`gpualert_common.redact.Redactor` has it."""

    @property
    def found(self) -> Any:
        """How many secrets of each kind were masked so far."""

    def text(self, text: str) -> str:
        """``text`` with its secrets masked."""


class Unmasked:
    """Masks nothing: for a person who reads a record of their own on its own machine."""

    found: Mapping[str, int] = {}

    def text(self, text: str) -> str:
        """``text`` as it is."""
        return text


class Say(Protocol):
    """Makes a text of any value: on one line (``kept``: with its blanks), safe to show, bounded."""

    def __call__(self, value: object, most: int = LINE, *, kept: bool = False) -> str:
        """The text; empty for what is none."""


def speaker(masks: Masks) -> Say:
    """Secrets go first: a cut or a joined line could make one unrecognisable."""

    def say(value: object, most: int = LINE, *, kept: bool = False) -> str:
        if not isinstance(value, str):
            return ""
        masked = masks.text(value[:_MOST_READ])
        return safe_line(masked, most) if kept else one_line(masked, most)

    return say


@dataclass(frozen=True, slots=True)
class Shown:
    """One thing the evidence shows.  ``where`` is such as "output.log:812, rank 3", or empty."""

    claim: str
    where: str
    excerpt: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """The parts of a verdict; each text on one line, empty where nothing is known.

    ``outcome`` completes "the run ...", ``fault`` answers "whose fault", ``retry`` completes "a
    retry ...".  ``secondary`` and ``ruled_out`` are sentences about other causes and families,
    ``unseen`` such as "nvml (no driver)".  GPU times are in seconds, None where nobody measured.
    """

    headline: str
    outcome: str
    disposition: str
    cause: str
    confidence: float
    attribution: str
    retry: str
    do: tuple[str, ...]
    shows: tuple[Shown, ...]
    implies: str
    cannot_decide: tuple[str, ...]
    secondary: tuple[str, ...]
    ruled_out: tuple[str, ...]
    warnings: tuple[str, ...]
    unseen: tuple[str, ...]
    gpu_seconds: float | None = None
    wasted_gpu_seconds: float | None = None
    well: bool = False

    @property
    def tone(self) -> str:
        """good, bad or odd."""
        return phrases.tone(self.disposition, well=self.well)

    def summary(self, lasted_s: float | None = None) -> str:
        """What became of the run, whose fault that is and whether a retry helps, in sentences."""
        after = "" if lasted_s is None or self.disposition == "not_started" else duration(lasted_s)
        if self.disposition == "running":
            return f"It has been running for {after}." if after else "It is still running."
        said = [f"The run {self.outcome}{after and f' after {after}'}."]
        if not self.well and self.cause not in ("", "none"):
            said.append(f"At fault: {phrases.fault(self.attribution) or 'not known'}.")
            advice = phrases.retry(self.retry)
            said += [f"A retry {advice}."] if advice else []
            said.append(f"Cause {self.cause}, confidence {self.confidence:.2f}.")
        return " ".join(said)

    def parts(self) -> Iterator[tuple[str, tuple[str | Shown, ...]]]:
        """Title and items of each part, the most telling first; items may be empty."""
        is_open = self.disposition == "running" and self.cause in ("", "none")
        if is_open:
            yield "Warnings", self.warnings
        elif not self.well:
            yield "Do", self.do
        yield "Shows", tuple(one for one in self.shows if not is_open or one.where != STATUS)
        if not is_open:
            yield "Implies", (self.implies,)
            yield "Cannot decide", self.cannot_decide
        yield "Also seen", self.secondary
        yield "Ruled out", self.ruled_out
        if not is_open:
            yield "Warnings", self.warnings
        unseen = [one for one in self.unseen if not is_open or not one.startswith(STATUS)]
        yield "Not looked at", (", ".join(unseen),)

    def cost(self) -> str:
        """The hours of GPUs that the run took, empty where nobody measured."""
        if self.gpu_seconds is None:
            return ""
        said = hours(self.gpu_seconds)
        wasted = self.wasted_gpu_seconds
        return said if wasted is None else f"{said}, {hours(wasted)} of them wasted"


def told_of(verdict: Verdict | None, say: Say, alert: Alert | None = None) -> Told:
    """The parts of a verdict; without one, those that the run's ``alert`` knows.

    The alert also says what became of the run's task.
    """
    state = alert.state if alert else None
    if verdict is None:
        return _without_verdict(alert)
    disposition, cause = str(verdict.disposition), say(verdict.cause)
    claims = tuple(shown(claim, say) for claim in verdict.shows[:_MOST_ITEMS])
    said = [claim.claim for claim in claims if claim.claim]
    others = [text for one in verdict.secondary[:_MOST_ITEMS] if (text := say(one.because))]
    return Told(
        headline=say(verdict.headline) or "No verdict",
        outcome=phrases.outcome(disposition, state),
        disposition=disposition,
        cause=cause,
        confidence=verdict.confidence,
        attribution=str(verdict.attribution),
        retry=str(verdict.retry),
        do=texts(verdict.do, say),
        shows=_once(claims),
        implies=say(verdict.implies, PROSE),
        cannot_decide=texts(verdict.cannot_decide, say),
        secondary=_distinct(_secondary(verdict.secondary, say, said)),
        ruled_out=_distinct(_ruled_out(verdict.ruled_out, say, verdict.family)),
        warnings=_distinct(_warnings(verdict.warnings, say, [*said, *others])),
        unseen=_unseen(verdict.sources, say),
        gpu_seconds=number(verdict.measured.get("gpu_seconds")),
        wasted_gpu_seconds=number(verdict.measured.get("wasted_gpu_seconds")),
        well=phrases.is_well(disposition, cause, state),
    )


def _without_verdict(alert: Alert | None) -> Told:
    disposition = alert.disposition if alert else "unknown"
    return Told(
        headline=alert.headline if alert else "No verdict",
        outcome=phrases.outcome(disposition, alert.state if alert else None),
        disposition=disposition,
        cause="",
        confidence=0.0,
        attribution="",
        retry="",
        do=(),
        shows=(),
        implies="",
        cannot_decide=(),
        secondary=(),
        ruled_out=(),
        warnings=(),
        unseen=(),
    )


def number(value: object) -> float | None:
    """``value`` where it is a number that can be reckoned with."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < _MOST_NUMBER else None


def texts(values: Sequence[str], say: Say) -> tuple[str, ...]:
    """Those of the first items that say something."""
    return tuple(text for one in values[:_MOST_ITEMS] if (text := say(one, PROSE)))


def shown(claim: Claim, say: Say) -> Shown:
    """A claim, and where it was read."""
    where = claim.where
    place = say(claim.source).replace("_", " ")
    if where is not None:
        at = f", byte {where.offset}" if where.line is None else f":{where.line}"
        place = f"{say(where.file)}{at}"
    place += "" if claim.rank is None else f", rank {claim.rank}"
    return Shown(say(claim.claim), place, say(claim.excerpt) or None)


def _once(claims: Iterable[Shown]) -> tuple[Shown, ...]:
    """The claims; one that says what that before it says is told as that of another place."""
    told: list[Shown] = []
    said = None
    for claim in claims:
        told.append(replace(claim, claim="again") if claim.claim == said else claim)
        said = claim.claim
    return tuple(told)


def _distinct(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


def _secondary(others: Sequence[SecondaryCause], say: Say, claims: Sequence[str]) -> Iterator[str]:
    """Each other cause by its name, and what is said of it beyond the claims."""
    for one in others[:_MOST_ITEMS]:
        cause, because = say(one.cause), say(one.because)
        if cause != "none":
            yield f"{cause}: {because.partition(': ')[0] if _repeats(because, claims) else because}"


def _ruled_out(families: Sequence[RuledOutFamily], say: Say, own: str | None) -> Iterator[str]:
    """Each family in words, and what speaks against it; not the cause's ``own``, whose other forms
    are meant."""
    for one in families[:_MOST_ITEMS]:
        if one.family != own:
            yield f"{phrases.family(say(one.family))}: {say(one.because)}"


def _warnings(warnings: Sequence[VerdictWarning], say: Say, told: Sequence[str]) -> Iterator[str]:
    """Each warning that nothing of what is told already says."""
    for one in warnings[:_MOST_ITEMS]:
        text = say(one.text, PROSE)
        if text and not _repeats(text, told):
            yield text


def _repeats(text: str, told: Sequence[str]) -> bool:
    return any(one in text for one in told)


def _unseen(sources: Sequence[SourceStatus], say: Say) -> tuple[str, ...]:
    """The sources that could not be looked at, each with its reason."""
    missing = [one for one in sources[:_MOST_ITEMS] if not one.available]
    named = ((say(one.name).replace("_", " "), say(one.why)) for one in missing)
    return tuple(f"{name} ({why})" if why else name for name, why in named)
