"""Evidence of Slurm about a run that ended: the state of its job, and the stop that this was."""

from __future__ import annotations

import time
from collections.abc import Mapping

from gpualert_common.end_record import SchedulerStop
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.model import StopOrigin
from gpualert_common.quantities import is_time
from gpualert_common.slurm.job_status import ask_slurm
from gpualert_common.slurm.states import SlurmState
from gpualert_common.slurm.submission import find_followed_job
from gpualert_common.slurm.users import describe_user
from gpualert_common.spec import Ending
from gpualert_common.stop_origin import find_origin, is_own_decision
from gpualert_common.structs import Struct
from gpualert_common.telemetry.series import SourceAvailability, Telemetry, TelemetryEvent
from gpualert_common.telemetry.slurm_events import JOB, make_slurm_events

SOURCE = "slurm"
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
    facts = {"job": place.get("job"), "problems": list(report.problems)}
    return SlurmAnswer(SourceAvailability(SOURCE, available=True, facts=facts), found)


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
    if fields.get("has_ended") is True:
        return _read_end(fields, ending)
    if is_by_slurm and _is_at_limit(telemetry, ending):
        return {
            "cause": "time_limit",
            "claim": "Slurm stopped the run when its job had no time left",
        }
    if is_by_slurm and fields.get("state") == SlurmState.RUNNING:
        claim = f"Slurm's job {fields.get('job')} goes on: only a part of it was stopped"
        return {"cause": "cancelled", "claim": claim}
    return None


def _read_end(fields: Mapping[str, object], ending: Ending) -> SchedulerStop | None:
    """Return the stop that the state of an ended job shows."""
    state, job, ended_at = (fields.get(name) for name in ("state", "job", "ended_at"))
    known = SlurmState(str(state)) if state in SlurmState.__members__ else None
    cause = None if known is None else _CAUSES.get(known)
    if cause is None or known is None:
        return None
    if is_time(ended_at) and ending.ended_at is not None and ended_at > ending.ended_at + _CLOCK_S:
        return None
    return {"cause": cause, "claim": _claim(known, str(job), fields.get("by_uid"))}


def _is_at_limit(telemetry: Telemetry, ending: Ending) -> bool:
    """Return whether the run ended behind the limit that its job had at its start."""
    source = telemetry.sources.get(SOURCE)
    ends_at = None if source is None else source.facts.get("ends_at")
    return (
        is_time(ends_at) and ending.ended_at is not None and ending.ended_at >= ends_at - _LIMIT_S
    )


def _claim(state: SlurmState, job: str, uid: object) -> str:
    match state:
        case SlurmState.TIMEOUT:
            return f"Slurm ended the job {job} at its time limit"
        case SlurmState.DEADLINE:
            return f"Slurm ended the job {job} at its deadline"
        case SlurmState.PREEMPTED:
            return f"Slurm preempted the job {job}"
        case SlurmState.CANCELLED:
            who = describe_user(uid)
            return f"Slurm's job {job} was cancelled" + (f" by {who}" if who else "")
        case SlurmState.NODE_FAIL | SlurmState.BOOT_FAIL:
            return f"Slurm ended the job {job} because a node failed"
        case SlurmState.REVOKED:
            return f"Slurm revoked the job {job}, which another cluster runs"
        case _:
            return f"Slurm put the job {job} back into its queue"
