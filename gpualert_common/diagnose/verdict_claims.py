"""Claims of a verdict: each is a conclusion with its place in the log or its source."""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.observations import Observation
from gpualert_common.classify.resolution import Resolution
from gpualert_common.classify.tracebacks.traceback import Traceback
from gpualert_common.model import Claim, ExitFacts, LogLocation, Role
from gpualert_common.structs import replace
from gpualert_common.whole_words import cut_words

_MOST_CLAIMS = 8
_MOST_OF_SOURCES = 4
"""Number of claims from sources other than log and status."""
_EXCERPT_CHARS = 300


def list_claims(
    resolution: Resolution,
    facts: ExitFacts,
    readings: Sequence[LogReading],
    of_sources: Sequence[Claim],
) -> tuple[Claim, ...]:
    """Return the claims of a verdict: exit status, other sources, exception, lines of the log."""
    claims = [Claim(resolution.status.claim, "exit_status"), *of_sources[:_MOST_OF_SOURCES]]
    found = resolution.traceback
    if found is not None:
        claims.append(_exception_claim(found))
    places = set() if found is None else {(found.file, found.end)}
    for one in resolution.evidence:
        if (one.file, one.place) not in places:  # another pattern may match the same line
            claims.append(_line_claim(one, readings))
            places.add((one.file, one.place))
    for reading in readings:
        claims += [
            _line_claim(one, readings)
            for one in reading.observations
            if "child_exitcode" in one.details and one not in resolution.evidence
        ][:1]
    if facts.log_disk_full:
        claims.append(Claim("the disk of the log had no space left", "log_writer"))
    return tuple(_drop_unsure_line(claim, readings) for claim in claims[:_MOST_CLAIMS])


def _drop_unsure_line(claim: Claim, readings: Sequence[LogReading]) -> Claim:
    """Return a claim without its line number where a part of the log before it was not read."""
    where = claim.where
    gaps = [
        end
        for reading in readings
        for _start, end in reading.unscanned
        if where is not None and reading.file == where.file
    ]
    if where is None or all(end > where.offset for end in gaps):
        return claim
    return replace(claim, where=replace(where, line=None))


def _exception_claim(found: Traceback) -> Claim:
    where = LogLocation(found.file, found.end.line, found.end.offset)
    at = ""
    frame = found.place_in_program
    if frame is not None:
        at = f" in {frame.function or 'the module'} ({frame.file}:{frame.line})"
    whole = f"{found.type}: {found.message}" if found.message else found.type
    excerpt = cut_words(whole, _EXCERPT_CHARS)
    return Claim(f"{found.name} was raised{at}", "log", where, excerpt, found.rank)


ROLE_WORDS = {
    Role.ROOT: "the log reports it",
    Role.CONFIRMATION: "the log confirms it",
    Role.CASCADE: "the log reports a consequence",
    Role.REPORT: "the launcher reports a failed process",
    Role.BENIGN: "the log mentions it",
}
"""Begin of the claim of a line, by the role of its pattern."""


def _line_claim(one: Observation, readings: Sequence[LogReading]) -> Claim:
    counts = ((reading.counts.get(one.pattern.id, 0), reading.is_sampled) for reading in readings)
    count, is_sampled = max(counts, default=(0, False))
    times = f", {'at least ' if is_sampled else ''}{count} times" if count > 1 else ""
    where = LogLocation(one.file, one.place.line, one.place.offset)
    return Claim(f"{ROLE_WORDS[one.role]}{times}", "log", where, one.excerpt, one.rank)
