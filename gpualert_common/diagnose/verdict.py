"""The verdict: what the evidence shows, what it implies, what it cannot decide, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.observations import Observation
from gpualert_common.classify.resolve import Resolution, resolve
from gpualert_common.classify.rules import Rule, RuleSet, Words
from gpualert_common.classify.status import signal_name
from gpualert_common.classify.traceback_model import Traceback
from gpualert_common.diagnose import families
from gpualert_common.diagnose.evidence import Evidence, Observed
from gpualert_common.diagnose.finding import Decision, decide
from gpualert_common.diagnose.measured import Measured
from gpualert_common.diagnose.paper import paper_class
from gpualert_common.diagnose.words import all_filled, first_filled, words_for
from gpualert_common.model import (
    Attribution,
    Claim,
    Disposition,
    ExitFacts,
    LogLocation,
    Retry,
    Role,
    RuledOutFamily,
    SecondaryCause,
    SourceStatus,
    Verdict,
    VerdictWarning,
)
from gpualert_common.spec import message_id

_MOST_CLAIMS = 8
_MOST_SEEN = 4
"""Of them, those of other sources than log and status."""
_EXCERPT_CHARS = 300
_STATUS_HIDDEN = (
    "the exit status is 0, yet the log ends in a failure: "
    "a pipe or a script may have hidden the status of the training"
)


def conclude(
    *,
    run_id: str | None,
    attempt: int,
    host: str | None,
    log_path: str | None,
    readings: Sequence[LogReading],
    facts: ExitFacts,
    rules: RuleSet,
    running: bool = False,
    observed: Observed | None = None,
) -> Verdict:
    """The verdict on a run from what was read of its logs, how it ended, and what else was seen.

    Always a verdict: for a run that never started, one that is still *running*, one whose status
    is unknown (never called a success), and with rules missing.  Every claim cites its source.
    """
    resolution = resolve(readings, facts, rules, running=running)
    decision = Decision(resolution)
    numbers: Measured = {}
    trained = resolution.trained
    if observed is not None:
        evidence = Evidence(resolution, facts, observed)
        trained = evidence.trained
        decision = decide(resolution, families.judge(evidence))
        try:
            numbers = evidence.measured
        except Exception as error:  # noqa: BLE001 - telemetry is anybody's numbers
            because = f"what it used is not known: {type(error).__name__}: {error}"
            decision = replace(decision, warnings=(*decision.warnings, ("not_measured", because)))
    resolution = decision.resolution
    rule = _rule_of(resolution, rules)
    known = _known(resolution, facts)
    words = words_for(rule, known)
    failed = rule.family != "G1" or resolution.disposition is Disposition.COMPLETED
    return Verdict(
        run_id=run_id,
        message_id=None if run_id is None else message_id(run_id),
        attempt=attempt,
        host=host,
        log_path=log_path,
        exit_code=facts.code,
        signal=_signal(facts, resolution),
        disposition=resolution.disposition,
        family=_family(rule, decision, trained=trained) if failed else None,
        cause=resolution.cause,
        fault_class=rule.fault_class,
        paper_class=paper_class(resolution),
        attribution=rule.attribution if failed and not decision.anybodys else Attribution.UNKNOWN,
        confidence=resolution.confidence,
        retry=rule.retry,
        headline=first_filled(words.headline, known) or resolution.cause.replace("_", " "),
        details=resolution.details,
        shows=_claims(resolution, facts, readings, decision.claims),
        implies=first_filled(words.implies, known) or "",
        cannot_decide=(*all_filled(words.cannot_decide, known), *decision.cannot_decide),
        do=all_filled(words.do, known),
        ruled_out=tuple(RuledOutFamily(family, why) for family, why in resolution.ruled_out),
        secondary=tuple(SecondaryCause(cause, why) for cause, why in resolution.secondary),
        warnings=_warnings(resolution, rule, facts, readings, decision.warnings),
        sources=(*_sources(facts, readings, running=running), *_observers(observed)),
        measured=numbers,
    )


def _rule_of(resolution: Resolution, rules: RuleSet) -> Rule:
    """The rule that says what is told: that of the evidence, which may be the user's own."""
    for one in resolution.evidence[:1]:
        own = rules.of_pattern(one.pattern)
        if own is not None and own.id == resolution.cause:
            return own
    return rules.by_cause.get(resolution.cause) or _bare_rule(resolution.cause)


def _bare_rule(cause: str) -> Rule:
    """What is said of a cause that no rule describes (its file is broken, or absent)."""
    return Rule(
        id=cause,
        order=0,
        family="G1" if cause == "none" else None,
        fault_class=None,
        attribution=Attribution.UNKNOWN,
        retry=Retry.NO if cause == "none" else Retry.SAME,
        words=Words(
            headline=(cause.replace("_", " "),),
            implies=(),
            cannot_decide=("what this cause implies: its rule file could not be read",),
            do=("run `gpualert rules check`",),
        ),
        cases=(),
        patterns=(),
        exceptions=(),
        raised_in=(),
        signals=(),
        exit_codes=(),
        sources=(),
        since="0.1.0",
        file="",
        samples={},
    )


def _known(resolution: Resolution, facts: ExitFacts) -> dict[str, Any]:
    """What placeholders and cases may refer to."""
    return {
        "disposition": resolution.disposition.value,
        "exit_code": facts.code,
        "rank": resolution.rank,
        "status": resolution.status.said,
        "start_error": facts.start_error[1] if facts.start_error else None,
        "because": (facts.sender or {}).get("because"),
        **resolution.details,
    }


def _family(rule: Rule, decision: Decision, *, trained: bool) -> str | None:
    """That of the finding that names the cause, else the rule's.

    A1 is for a run that died before training began; later the cause has no family.
    """
    if rule.family != "A1":
        return decision.family or rule.family
    return decision.family or (None if trained else "A1")


def _signal(facts: ExitFacts, resolution: Resolution) -> str | None:
    if facts.code is not None and facts.code < 0:
        return signal_name(-facts.code)
    if resolution.status.signal is not None and resolution.status.probable:
        return signal_name(resolution.status.signal)
    return None


def _claims(
    resolution: Resolution,
    facts: ExitFacts,
    readings: Sequence[LogReading],
    seen: Sequence[Claim],
) -> tuple[Claim, ...]:
    claims = [Claim(resolution.status.said, "exit_status"), *seen[:_MOST_SEEN]]
    found = resolution.traceback
    if found is not None:
        claims.append(_exception_claim(found, resolution.rank))
    at = set() if found is None else {(found.file, found.end)}
    for one in resolution.evidence:
        if (one.file, one.place) not in at:  # another pattern may have told of the same line
            claims.append(_line_claim(one, readings))
            at.add((one.file, one.place))
    for reading in readings:
        claims += [
            _line_claim(one, readings)
            for one in reading.observations
            if "child_exitcode" in one.details and one not in resolution.evidence
        ][:1]
    if facts.log_disk_full:
        claims.append(Claim("the disk of the log had no space left", "log_writer"))
    return tuple(_placed(claim, readings) for claim in claims[:_MOST_CLAIMS])


def _placed(claim: Claim, readings: Sequence[LogReading]) -> Claim:
    """Without its line, which was not counted, where something before it was not read."""
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


def _exception_claim(found: Traceback, rank: int | None) -> Claim:
    where = LogLocation(found.file, found.end.line, found.end.offset)
    at = ""
    frame = found.place_in_program
    if frame is not None:
        at = f" in {frame.function or 'the module'} ({frame.file}:{frame.line})"
    excerpt = f"{found.type}: {found.message}" if found.message else found.type
    return Claim(f"{found.name} was raised{at}", "log", where, excerpt[:_EXCERPT_CHARS], rank)


_ROLE_WORDS = {
    Role.ROOT: "the log says so",
    Role.CONFIRMATION: "the log confirms it",
    Role.CASCADE: "the log reports what followed",
    Role.REPORT: "the launcher reports",
    Role.BENIGN: "the log mentions it",
}


def _line_claim(one: Observation, readings: Sequence[LogReading]) -> Claim:
    count = max((reading.counts.get(one.pattern.id, 0) for reading in readings), default=0)
    times = f", {count} times" if count > 1 else ""
    what = one.pattern.name.replace("_", " ")
    where = LogLocation(one.file, one.place.line, one.place.offset)
    return Claim(f"{_ROLE_WORDS[one.role]}: {what}{times}", "log", where, one.excerpt, one.rank)


def _warnings(
    resolution: Resolution,
    rule: Rule,
    facts: ExitFacts,
    readings: Sequence[LogReading],
    seen: Sequence[tuple[str, str]],
) -> tuple[VerdictWarning, ...]:
    found = list(seen)
    told_by_log = resolution.cause != "none" and (resolution.evidence or resolution.traceback)
    ends_well = rule.fault_class == "training"  # such a program knows of no failure
    if resolution.disposition is Disposition.COMPLETED and told_by_log and not ends_well:
        found.append(("exit_status", _STATUS_HIDDEN))
    if facts.log_disk_full:
        found.append(("log_incomplete", "the disk of the log was full: its end may be missing"))
    if facts.survivors:
        found.append(("survivors", f"{facts.survivors} processes of the run outlived it"))
    for reading in readings:
        lost = sum(end - start for start, end in reading.unscanned)
        if lost:
            found.append(("unscanned", f"{lost} bytes of {reading.file} were not read"))
    return tuple(VerdictWarning(kind, text) for kind, text in found)


def _observers(observed: Observed | None) -> tuple[SourceStatus, ...]:
    """Return the status of each source beside log and exit status."""
    if observed is None:
        return ()
    return tuple(
        SourceStatus(name, available=True)
        if source.available
        else SourceStatus(name, available=False, why=source.why, remedy=source.remedy)
        for name, source in observed.telemetry.sources.items()
    )


def _sources(
    facts: ExitFacts, readings: Sequence[LogReading], *, running: bool
) -> tuple[SourceStatus, ...]:
    sources = [
        SourceStatus(
            "log",
            available=True,
            file=reading.file,
            bytes_read=reading.size - sum(end - start for start, end in reading.unscanned),
            unscanned=tuple((start, end) for start, end in reading.unscanned),
        )
        for reading in readings
    ]
    if not readings:
        sources.append(SourceStatus("log", available=False, why="no log was read"))
    if facts.code is not None or not facts.started:
        sources.append(SourceStatus("exit_status", available=True))
    else:
        why = "the run has not ended" if running else "nobody was there to read it"
        sources.append(SourceStatus("exit_status", available=False, why=why))
    return tuple(sources)
