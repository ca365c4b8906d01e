"""Schedule of a run's alerts: which are due now, later or not at all.  Pure: facts in, plan out.

The supervisor knows the outcome of the training; only an engine's task knows its own outcome.  So
the alert of a run that a task follows waits for the task's outcome, a short time at most.  As long
as another attempt may follow, the alert is held; that attempt supersedes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from gpualert_common.jobs.alerts.alert_action import JobAlertAction
from gpualert_common.launch_record import ChannelConfig, Owner
from gpualert_common.notify.entry import EntryFields, EntryState
from gpualert_common.notify.job_part import JobPart
from gpualert_common.quantities import is_seconds

JsonObject = Mapping[str, object]

OUTCOME_S = 10.0
"""Limit of the wait for an outcome; a live task writes it in well under a second."""
NEXT_ATTEMPT_SLACK_S = 60.0
"""Time for an engine to start the next attempt, where its task did not name one."""
_WELL_STATES = ("success", "skipped")


class AlertAction(StrEnum):
    """Action for the alert about the end of a run."""

    SKIP = "skip"
    """There is nothing to send."""
    WAIT = "wait"
    """It is too early to decide."""
    HOLD = "hold"
    """Send it unless another attempt comes."""
    AGREE = "agree"
    """Send it unless another node of its job does: the sender agrees with them."""
    SEND = "send"


DUE = (AlertAction.AGREE, AlertAction.SEND)
"""Actions for which a sender is needed."""


class AlertDecision:
    """An action, its reason, and until when it holds in seconds since the epoch."""

    __slots__ = ("action", "because", "until")

    def __init__(self, action: AlertAction, because: str, until: float = 0.0) -> None:
        self.action = action
        self.because = because
        self.until = until


class AlertFacts:
    """Facts of a record that decide about its alert.

    ``wanted`` is when to send alerts (None: no channel is named); ``ended_at`` is None while the
    run is in progress; ``is_well`` is True when the verdict found no failure, ``is_suspect`` when
    it found one although the run exited with 0 by itself, ``is_own_stop`` when its user stopped it
    by hand.  ``ownership`` holds the terms agreed with an engine's attempt (None: no engine),
    ``adoptable_until`` is until when the next attempt could adopt a run that its task had left
    (None: it had not), ``outcome`` the result of its task (None: not known); ``has_successor`` is
    True when a later attempt has begun.  ``job`` is the part of the run in the alert of its job
    (None: no job directory).  ``channels`` are the channels that the run names.
    """

    __slots__ = (
        "adoptable_until",
        "channels",
        "ended_at",
        "has_successor",
        "is_own_stop",
        "is_suspect",
        "is_well",
        "job",
        "outcome",
        "ownership",
        "wanted",
    )

    def __init__(
        self,
        *,
        wanted: str | None,
        ended_at: float | None,
        is_well: bool = False,
        is_suspect: bool = False,
        is_own_stop: bool = False,
        ownership: Owner | None = None,
        adoptable_until: float | None = None,
        outcome: JsonObject | None = None,
        has_successor: bool = False,
        job: JobPart | None = None,
        channels: Sequence[ChannelConfig] = (),
    ) -> None:
        self.wanted = wanted
        self.ended_at = ended_at
        self.is_well = is_well
        self.is_suspect = is_suspect
        self.is_own_stop = is_own_stop
        self.ownership = ownership
        self.adoptable_until = adoptable_until
        self.outcome = outcome
        self.has_successor = has_successor
        self.job = job
        self.channels = channels


class Schedule:
    """A decision, and the channels that get an entry in the outbox because of it."""

    __slots__ = ("channels", "decision")

    def __init__(self, decision: AlertDecision, channels: Sequence[ChannelConfig]) -> None:
        self.decision = decision
        self.channels = channels

    @property
    def state(self) -> EntryState:
        """State of a new entry."""
        return EntryState.PENDING if self.decision.action is AlertAction.SEND else EntryState.HELD

    @property
    def due(self) -> float:
        """When a new entry is due; 0 for one that needs no more time."""
        return self.decision.until if self.decision.action is AlertAction.HOLD else 0.0

    @property
    def reason_to_hold(self) -> str:
        """Reason for which a new entry is held, other than another attempt; empty for none."""
        return self.decision.because if self.decision.action is AlertAction.AGREE else ""

    def change_of_held(self, held: EntryFields) -> EntryFields:
        """Return the changes of a held entry with these fields; empty for none."""
        due, because = held["due"] or 0.0, held.get("because")
        match self.decision.action:
            case AlertAction.SEND:
                return {"state": EntryState.PENDING, "due": 0.0}
            case AlertAction.AGREE if due != 0.0 or because != self.decision.because:
                return {"due": 0.0, "because": self.decision.because}
            case AlertAction.SKIP:
                return {"state": EntryState.SUPERSEDED, "because": self.decision.because}
            case AlertAction.HOLD if due != self.decision.until:
                return {"due": self.decision.until}
            case _:
                return {}


def schedule(
    facts: AlertFacts,
    at: float,
    extra_channels: Sequence[ChannelConfig] = (),
    *,
    send_now: bool = False,
) -> Schedule:
    """Return what is due at the time ``at`` by these facts.

    ``extra_channels`` get the alert in addition to the run's own; ``send_now`` sends the alert of
    an ended run without waiting for the engine.
    """
    decision = decide_action(facts, at)
    own = () if decision.action is AlertAction.SKIP else facts.channels
    if send_now and facts.ended_at is not None:
        decision = AlertDecision(AlertAction.SEND, "it was asked for")
    is_due = decision.action in (AlertAction.SEND, AlertAction.AGREE, AlertAction.HOLD)
    return Schedule(decision, [*own, *extra_channels] if is_due else [])


def decide_action(facts: AlertFacts, at: float) -> AlertDecision:
    """Return what to do with the alert about a run's end at the time ``at``."""
    decision = _decide_for_run(facts, at)
    job = facts.job
    if job is None or decision.action is not AlertAction.SEND:
        return decision
    if job.action is JobAlertAction.LEAVE:
        return AlertDecision(AlertAction.SKIP, job.because)
    return AlertDecision(AlertAction.SEND if job.is_sender else AlertAction.AGREE, job.because)


def _decide_for_run(facts: AlertFacts, at: float) -> AlertDecision:
    """Return what to do with the alert of a run that belongs to no job."""
    ended_at = facts.ended_at
    if ended_at is None:
        action = AlertAction.SKIP if facts.wanted is None else AlertAction.WAIT
        return AlertDecision(action, "it has not ended", float("inf"))
    if facts.wanted in (None, "never"):
        return AlertDecision(AlertAction.SKIP, "nobody is to be notified")
    if facts.ownership is not None and facts.outcome is None:
        if facts.has_successor:
            return AlertDecision(AlertAction.SKIP, "a later attempt has begun")
        if at < ended_at + OUTCOME_S:
            because = "its task may still report an outcome"
            return AlertDecision(AlertAction.WAIT, because, ended_at + OUTCOME_S)
    state = None if facts.outcome is None else facts.outcome.get("state")
    is_well = facts.is_well
    if state is not None:  # a task that succeeds or is skipped accepts a bad status, no false one
        is_well = state in _WELL_STATES and not facts.is_suspect
    if is_well and facts.wanted != "always":
        return AlertDecision(AlertAction.SKIP, "it ended well")
    if facts.is_own_stop and facts.ownership is None and facts.wanted == "failure":
        return AlertDecision(AlertAction.SKIP, "its user stopped it")
    return _decide_time(facts, ended_at, at)


def _decide_time(facts: AlertFacts, ended_at: float, at: float) -> AlertDecision:
    """Send, hold or skip the alert of an end for which alerts are wanted."""
    ownership, outcome = facts.ownership, facts.outcome
    if ownership is None:
        return AlertDecision(AlertAction.SEND, "it has ended")
    is_final = ownership.get("is_last") if outcome is None else outcome.get("final")
    if is_final:
        return AlertDecision(AlertAction.SEND, "no further attempt follows")
    if facts.has_successor:
        return AlertDecision(AlertAction.SKIP, "a later attempt has begun")
    within_s = None if outcome is None else outcome.get("next_within_s")
    if is_seconds(within_s):
        until = ended_at + within_s
    else:
        until = _find_adoption_end(facts, ownership, ended_at) + NEXT_ATTEMPT_SLACK_S
    if at < until:
        return AlertDecision(AlertAction.HOLD, "another attempt may follow", until)
    return AlertDecision(AlertAction.SEND, "no further attempt came in time")


def _find_adoption_end(facts: AlertFacts, ownership: Owner, ended_at: float) -> float:
    """Return until when the next attempt may adopt the run, or take its result."""
    if facts.adoptable_until is not None:
        return facts.adoptable_until
    adopt_within_s = ownership.get("adopt_within_s")
    return ended_at + (adopt_within_s if is_seconds(adopt_within_s) else 0.0)
