"""Evidence of Slurm about a run that ended: the state of its job, and the stop that this was."""

from __future__ import annotations

import time
from collections.abc import Mapping

from gpualert_common.end_record import SchedulerStop
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.model import StopOrigin
from gpualert_common.quantities import is_seconds, is_time
from gpualert_common.slurm.job_status import ask_slurm
from gpualert_common.slurm.states import SlurmState
from gpualert_common.slurm.submissions.followed_state import ENDLESS, read_followed_state
from gpualert_common.slurm.submissions.submission import find_followed_job
from gpualert_common.slurm.users import describe_user
from gpualert_common.spec import Ending
from gpualert_common.stop_origin import find_origin, is_own_decision
from gpualert_common.structs import Struct, replace
from gpualert_common.telemetry.series import SourceAvailability, Telemetry, TelemetryEvent
from gpualert_common.telemetry.slurm_events import JOB, make_slurm_events

SOURCE = "slurm"
_NAMES = frozenset(SlurmState)
_CAUSES = {
    SlurmState.TIMEOUT: "time_limit",
    SlurmState.DEADLINE: "time_limit",
    SlurmState.PREEMPTED: "preempted",
    SlurmState.REQUEUED: "preempted",
    SlurmState.SPECIAL_EXIT: "preempted",
    SlurmState.REVOKED: "cancelled",
    SlurmState.CANCELLED: "cancelled",
    SlurmState.NODE_FAIL: "node_failure",
    SlurmState.BOOT_FAIL: "node_failure",
}
"""Cause of a stop by the state in which Slurm ended the job."""
_ASKING_NODES = 8
"""Nodes of a job that ask while it ends; all of them would burden Slurm, and one answer is enough
for the job."""
_LIVE_PATIENCE_S, _LIVE_DEADLINE_S = 3.0, 1.5
"""Together within the deadline of a verdict, since Slurm kills what is left soon afterwards."""
_DEADLINE_S = 10.0
_CLOCK_S = 5.0
"""Difference of the clocks of node and controller; Slurm has whole seconds."""


_LIMIT_S = 2.0
"""Slurm stops a job up to half a minute after its limit, and never before it."""


_MOST_LEFT_S, _MOST_LEFT_SHARE = 1800.0, 0.1
"""Time before the limit at which a signal is ordered: minutes, and a small part of the limit."""


class SlurmAnswer(Struct, frozen=True):
    """The source, and its events."""

    source: SourceAvailability
    events: tuple[TelemetryEvent, ...] = ()


def ask_about_run(
    launch_record: LaunchRecord, ending: Ending, *, is_live: bool
) -> SlurmAnswer | None:
    """Return Slurm's answer about a run that ended; None for one that it cannot have stopped.

    ``is_live`` says that the run ends now.
    """
    place, at = launch_record.slurm, launch_record.created_at
    followed = find_followed_job(launch_record.command)
    state = read_followed_state(launch_record.command)
    if followed is not None:  # its job may have begun long after the run
        place, at = followed, ending.ended_at or time.time()
    is_success = ending.code == 0 and ending.signal is None
    if place is None or is_success or is_own_decision(ending.signal, ending.sender, ending.limit):
        return None
    if is_live and place.get("index", 0) >= _ASKING_NODES:
        why = f"only the first {_ASKING_NODES} nodes of a job ask Slurm when it ends"
        return SlurmAnswer(SourceAvailability(SOURCE, available=False, why=why))
    ended_at = ending.ended_at or time.time()
    report = ask_slurm(
        place,
        at,
        patience_s=_LIVE_PATIENCE_S if is_live else 0.0,
        deadline_s=_LIVE_DEADLINE_S if is_live else _DEADLINE_S,
    )
    if report.status is None:
        why = "; ".join(report.problems) or "Slurm does not know the job any more"
        remedy = "accounting by slurmdbd keeps jobs" if not report.problems else ""
        return SlurmAnswer(SourceAvailability(SOURCE, available=False, why=why, remedy=remedy))
    events = make_slurm_events(report, place, at, ended_at)
    found = tuple(
        TelemetryEvent(one.what, one.of, SOURCE, one.at or ended_at, one.text, one.fields)
        for one in events
    )
    if state is not None and state.reason in ENDLESS and state.job == place.get("job"):
        found = tuple(_with_reason(one, state.reason) if one.what == JOB else one for one in found)
    facts = {"job": place.get("job"), "problems": list(report.problems)}
    return SlurmAnswer(SourceAvailability(SOURCE, available=True, facts=facts), found)


def _with_reason(event: TelemetryEvent, reason: str) -> TelemetryEvent:
    """Return the event of a job that never started, with the reason for which it waited."""
    text = f"{event.text}; it never started, for the reason {reason}"
    return replace(event, text=text, fields={**event.fields, "waited_for": reason})


def find_scheduler_stop(telemetry: Telemetry, ending: Ending) -> SchedulerStop | None:
    """Return the stop of a run by Slurm, as its job, or else the limit of that, shows it.

    A job that ended after the run, or for which the run succeeded, did not stop it.  A signal of
    Slurm to a job that goes on is that of a person, or of ``srun``, and cancels a step.
    """
    if ending.code == 0 and ending.signal is None:
        return None
    jobs = [one for one in telemetry.find_events(JOB) if one.source == SOURCE]
    fields = jobs[-1].fields if jobs else {}
    is_by_slurm = find_origin(ending.signal, ending.sender) is StopOrigin.SCHEDULER
    ended = _read_end(fields, ending) if fields.get("has_ended") is True else None
    ended = ended or _read_step(fields, ending)
    if ended is not None or fields.get("has_ended") is True:
        return ended
    if is_by_slurm and _is_at_limit(telemetry, ending):
        return {
            "cause": "time_limit",
            "claim": "Slurm stopped the run when its job had no time left",
        }
    left_s = _find_time_left(fields, ending.ended_at)
    if is_by_slurm and left_s is not None:
        claim = f"Slurm sent its signal {left_s:.0f} s before the time limit of the job"
        return {"cause": "time_limit", "claim": claim}
    if is_by_slurm and fields.get("state") == SlurmState.RUNNING:
        claim = f"Slurm's job {fields.get('job')} goes on: only a part of it was stopped"
        return {"cause": "cancelled", "claim": claim}
    return None


def _find_time_left(fields: Mapping[str, object], at: float | None) -> float | None:
    """Return the time that a running job had left, if that was so little that the option --signal
    may have ordered a signal then; None otherwise."""
    ends_at, limit_s = fields.get("ends_at"), fields.get("time_limit_s")
    if fields.get("state") != SlurmState.RUNNING or at is None or not is_time(ends_at):
        return None
    left_s = ends_at - at
    is_short = is_seconds(limit_s) and left_s <= min(_MOST_LEFT_S, limit_s * _MOST_LEFT_SHARE)
    return max(0.0, left_s) if is_short else None


def _read_end(fields: Mapping[str, object], ending: Ending) -> SchedulerStop | None:
    """Return the stop that the state of an ended job shows."""
    known = _find_state(fields.get("state"))
    cause = None if known is None else _CAUSES.get(known)
    if cause is None or known is None or _is_later(fields.get("ended_at"), ending):
        return None
    return {
        "cause": cause,
        "claim": _claim(known, f"job {fields.get('job')}", fields.get("by_uid")),
    }


def _read_step(fields: Mapping[str, object], ending: Ending) -> SchedulerStop | None:
    """Return the stop of the step alone.

    Without the number of a user ``srun`` ended it, because one of its tasks failed.
    """
    known, uid = _find_state(fields.get("step_state")), fields.get("step_by_uid")
    if known not in (SlurmState.TIMEOUT, SlurmState.CANCELLED):
        return None
    if _is_later(fields.get("step_ended_at"), ending):
        return None
    name = f"step {fields.get('step')}"
    if known is SlurmState.CANCELLED and uid is None:
        return {"cause": "cancelled", "claim": f"Slurm ended the {name}, but not its job"}
    return {"cause": _CAUSES[known], "claim": _claim(known, name, uid)}


def _find_state(value: object) -> SlurmState | None:
    return SlurmState(value) if isinstance(value, str) and value in _NAMES else None


def _is_later(ended_at: object, ending: Ending) -> bool:
    """Return whether something ended later than the run."""
    if not is_time(ended_at) or ending.ended_at is None:
        return False
    return ended_at > ending.ended_at + _CLOCK_S


def _is_at_limit(telemetry: Telemetry, ending: Ending) -> bool:
    """Return whether the run ended behind the limit that its job had at its start."""
    source = telemetry.sources.get(SOURCE)
    ends_at = None if source is None else source.facts.get("ends_at")
    return (
        is_time(ends_at) and ending.ended_at is not None and ending.ended_at >= ends_at - _LIMIT_S
    )


def _claim(state: SlurmState, what: str, uid: object) -> str:
    match state:
        case SlurmState.TIMEOUT:
            return f"Slurm ended the {what} at its time limit"
        case SlurmState.DEADLINE:
            return f"Slurm ended the {what} at its deadline"
        case SlurmState.PREEMPTED:
            return f"Slurm preempted the {what}"
        case SlurmState.CANCELLED:
            who = describe_user(uid)
            return f"Slurm's {what} was cancelled" + (f" by {who}" if who else "")
        case SlurmState.NODE_FAIL | SlurmState.BOOT_FAIL:
            return f"Slurm ended the {what} because a node failed"
        case SlurmState.REVOKED:
            return f"Slurm revoked the {what}, which another cluster runs"
        case _:
            return f"Slurm put the {what} back into its queue"
