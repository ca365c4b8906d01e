"""Events about the job of a run, as Slurm reports it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from gpualert_common.launch_record import SlurmPlace
from gpualert_common.slurm.accounting import SlurmStep
from gpualert_common.slurm.job_status import SlurmReport
from gpualert_common.slurm.nodes import NodeEvent
from gpualert_common.slurm.states import SlurmState
from gpualert_common.slurm.submissions.followed_state import FollowedState
from gpualert_common.telemetry.source import SourceEvent

JOB, STEP_MEMORY, NODE_LOST = "slurm_job", "slurm_step_memory", "slurm_node_lost"
FOLLOWED = "slurm_followed_job"
"""Event: a new state of the job that the run follows from outside."""
_STEP_BEFORE_S = 5.0
"""A step of a run begins after it; Slurm has whole seconds."""
_MOST_STEPS = 4
_BATCH = "batch"


def make_slurm_events(
    report: SlurmReport, place: SlurmPlace, started_at: float, ended_at: float
) -> Iterator[SourceEvent]:
    """Yield the state of the job, its nodes that failed, and steps that the kernel killed for
    memory, of a run of that time."""
    if report.status is None:
        return
    fields = _describe_job(report, place)
    text = f"Slurm's job {fields['job']} is {report.status.text}"
    if report.has_ended:
        text = f"Slurm ended its job {fields['job']} as {report.status.text}"
        if report.ended_at is not None:
            text += f" at {_format_clock(report.ended_at)}"
    if report.next_start is not None:
        text += f"; it was requeued, and its next start is {report.next_start.status.text}"
    yield SourceEvent(JOB, "slurm", text, fields, ended_at)
    for node in report.lost_nodes:
        yield make_node_event(node, ended_at)
    for step in _find_memory_steps(report, place, started_at, ended_at):
        name = f"{fields['job']}.{step.name}"
        said = f"Slurm reports that the kernel killed a process of its step {name} for memory"
        yield SourceEvent(STEP_MEMORY, "slurm", said, {"step": name}, ended_at)


def _describe_job(report: SlurmReport, place: SlurmPlace) -> Mapping[str, Any]:
    status, job = report.status, report.job
    step = None if job is None else job.find_step(place.get("step"))
    fields = {
        "job": place.get("job"),
        "state": None if status is None else status.state,
        "by_uid": None if status is None else status.by_uid,
        "has_ended": report.has_ended,
        "ended_at": report.ended_at,
        "started_at": None if job is None else job.started_at,
        "time_limit_s": None if job is None else job.time_limit_s,
        "nodes": report.nodes or None,
        "next_state": None if report.next_start is None else report.next_start.status.text,
        "is_active": report.queued is not None and report.queued.may_have_processes,
        "ends_at": None if report.queued is None else report.queued.ends_at,
    }
    if step is not None and step.status.has_ended:
        fields |= {
            "step": f"{place.get('job')}.{step.name}",
            "step_state": step.status.state,
            "step_by_uid": step.status.by_uid,
            "step_ended_at": step.ended_at,
        }
    return {name: value for name, value in fields.items() if value is not None}


def make_node_event(node: NodeEvent, ended_at: float) -> SourceEvent:
    """Return the event of a node that failed, of a run that ended, or goes on, at that time."""
    fields = {"node": node.node, "state": node.state, "reason": node.reason, "user": node.user}
    text = f"Slurm reports the node {node.node} as {node.state}"
    text += f": {node.reason}" if node.reason else ""
    at = ended_at if node.at is None else min(node.at, ended_at)
    return SourceEvent(NODE_LOST, f"node:{node.node}", text, fields, at)


def make_followed_event(state: FollowedState, at: float) -> SourceEvent:
    """Return the event of a new state of the job that a run follows."""
    text = f"Slurm has the job {state.job} as {state.state}"
    text += f" ({state.reason})" if state.reason else ""
    fields = {
        "job": state.job,
        "state": state.state,
        "reason": state.reason or None,
        "waits_for_ever": state.waits_for_ever,
        "ends_at": state.ends_at,
    }
    known = {name: value for name, value in fields.items() if value is not None}
    return SourceEvent(FOLLOWED, "slurm", text, known, at)


def _find_memory_steps(
    report: SlurmReport, place: SlurmPlace, started_at: float, ended_at: float
) -> list[SlurmStep]:
    """Return the steps of the run that ran out of memory: its own, or those that it started."""
    job = report.job
    if job is None:
        return []
    found = [one for one in job.steps if one.status.state is SlurmState.OUT_OF_MEMORY]
    if "step" in place:
        return [one for one in found if one.name == place["step"]]
    since = started_at - _STEP_BEFORE_S
    until = ended_at + _STEP_BEFORE_S
    within = [
        one
        for one in found
        if one.started_at is not None and since <= one.started_at <= until and one.name != _BATCH
    ]
    is_own = [one for one in found if one.name == _BATCH and report.has_ended]
    return (within or is_own)[:_MOST_STEPS]


def _format_clock(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(at)).strip()
