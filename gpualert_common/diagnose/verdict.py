"""Verdict: what the evidence shows, what it implies, what it cannot decide, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.causes import NO_CAUSES
from gpualert_common.classify.details import Scalar
from gpualert_common.classify.explanation import Explanation
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.platforms import describe_platform
from gpualert_common.classify.resolution import Resolution, resolve
from gpualert_common.classify.rules import Rule, RuleSet
from gpualert_common.diagnose.decision import Decision, decide
from gpualert_common.diagnose.evidence import Evidence, RunObservations
from gpualert_common.diagnose.paper_classes import paper_class
from gpualert_common.diagnose.phenomena import diagnose_families
from gpualert_common.diagnose.rule_text import choose_text, fill_all, fill_first, find_rule
from gpualert_common.diagnose.run_metrics import RunMetrics, measure_run
from gpualert_common.diagnose.verdict_claims import list_claims
from gpualert_common.model import (
    Attribution,
    Disposition,
    ExitFacts,
    RuledOutFamily,
    SecondaryCause,
    SourceStatus,
    Verdict,
    VerdictWarning,
)
from gpualert_common.signal_names import signal_name
from gpualert_common.spec import message_id
from gpualert_common.stop_origin import describe_sender
from gpualert_common.structs import Struct, replace

_STATUS_HIDDEN = (
    "the exit status is 0, but the log ends in a failure: "
    "a pipe or a script may have hidden the status of the training"
)


class Conclusion(Struct, frozen=True):
    """The verdict on a run, and how its cause was chosen."""

    verdict: Verdict
    explanation: Explanation


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
    observations: RunObservations | None = None,
) -> Conclusion:
    """Return the verdict on a run, from its logs, its end and all other evidence.

    There is always a verdict: for a run that never started, one that is still *running*, one of
    unknown status (never a success), and with rules missing.  Every claim cites its source.
    """
    resolution = resolve(readings, facts, rules, running=running)
    decision = Decision(resolution)
    metrics: RunMetrics = {}
    trained = resolution.has_trained
    if observations is not None:
        evidence = Evidence(resolution, facts, observations, tuple(readings))
        trained = evidence.has_trained
        decision = decide(resolution, diagnose_families(evidence))
        try:
            metrics = measure_run(evidence)
        except Exception as error:  # noqa: BLE001 - telemetry may hold any numbers
            because = f"the metrics of the run are not known: {type(error).__name__}: {error}"
            decision = replace(decision, warnings=(*decision.warnings, ("not_measured", because)))
    resolution = decision.resolution
    rule = find_rule(resolution, rules)
    known = _placeholder_values(resolution, facts)
    text = choose_text(rule, known)
    failed = rule.family != "G1" or resolution.disposition is Disposition.COMPLETED
    is_attributed = failed and not decision.is_unattributed
    verdict = Verdict(
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
        attribution=(text.attribution if is_attributed else None) or Attribution.UNKNOWN,
        confidence=resolution.confidence,
        retry=text.retry or rule.retry,
        headline=fill_first(text.headline, known) or resolution.cause.replace("_", " "),
        details=resolution.details,
        shows=list_claims(resolution, facts, readings, decision.claims),
        implies=fill_first(text.implies, known) or "",
        cannot_decide=(*fill_all(text.cannot_decide, known), *decision.cannot_decide),
        do=fill_all(text.do, known),
        ruled_out=tuple(RuledOutFamily(family, why) for family, why in resolution.ruled_out),
        secondary=tuple(SecondaryCause(cause, why) for cause, why in resolution.secondary),
        warnings=_warnings(resolution, rule, facts, readings, decision.warnings),
        sources=(*_sources(facts, readings, running=running), *_observers(observations)),
        measured=metrics,
    )
    return Conclusion(verdict, resolution.explanation)


def _placeholder_values(resolution: Resolution, facts: ExitFacts) -> dict[str, Scalar]:
    """Return the values that placeholders and cases of a rule may refer to."""
    return {
        "disposition": resolution.disposition.value,
        "exit_code": facts.code,
        "rank": resolution.rank,
        "status": resolution.status.claim,
        "start_error": facts.start_error[1] if facts.start_error else None,
        "no_status": facts.no_status,
        "because": None if facts.sender is None else facts.sender.get("because"),
        "stop": resolution.status.origin,
        "stopper": describe_sender(facts.sender),
        **describe_platform(resolution.details.get("platform")),
        **resolution.details,
    }


def _family(rule: Rule, decision: Decision, *, trained: bool) -> str | None:
    """Return the family of the finding that names the cause, else that of the rule.

    A1 is the family of a run that failed before training began; a later failure of the same cause
    has no family.
    """
    if rule.family != "A1":
        return decision.family or rule.family
    return decision.family or (None if trained else "A1")


def _signal(facts: ExitFacts, resolution: Resolution) -> str | None:
    if facts.code is not None and facts.code < 0:
        return signal_name(-facts.code)
    if resolution.status.signal is not None and resolution.status.is_inferred:
        return signal_name(resolution.status.signal)
    return None


def _warnings(
    resolution: Resolution,
    rule: Rule,
    facts: ExitFacts,
    readings: Sequence[LogReading],
    seen: Sequence[tuple[str, str]],
) -> tuple[VerdictWarning, ...]:
    found = list(seen)
    in_log = resolution.cause not in NO_CAUSES and (resolution.evidence or resolution.traceback)
    ends_well = rule.fault_class == "training"  # such a program did not notice a failure
    if resolution.disposition is Disposition.COMPLETED and in_log and not ends_well:
        found.append(("exit_status", _STATUS_HIDDEN))
    if facts.log_disk_full:
        found.append(("log_incomplete", "the disk of the log was full: its end may be missing"))
    if facts.is_log_cut:
        text = "the process that copies the output to the log died: the log ends there"
        found.append(("log_incomplete", text))
    if facts.survivors:
        found.append(("survivors", f"{facts.survivors} processes of the run outlived it"))
    for reading in readings:
        lost = sum(end - start for start, end in reading.unscanned)
        if lost:
            found.append(("unscanned", f"{lost} bytes of {reading.file} were not read"))
        if reading.is_sampled:
            text = (
                f"{reading.file} has too many messages: of a kind the first and the last were read"
            )
            found.append(("sampled", text))
    return tuple(VerdictWarning(kind, text) for kind, text in found)


def _observers(observations: RunObservations | None) -> tuple[SourceStatus, ...]:
    """Return the status of each source other than log and exit status."""
    if observations is None:
        return ()
    return tuple(
        SourceStatus(name, available=True)
        if source.available
        else SourceStatus(name, available=False, why=source.why, remedy=source.remedy)
        for name, source in observations.telemetry.sources.items()
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
        why = "the run has not ended" if running else facts.no_status or "no process could read it"
        sources.append(SourceStatus("exit_status", available=False, why=why))
    return tuple(sources)
