"""Report of Slurm about the job of a run: its accounting, its queue, and its nodes.

The accounting decides by the states, never by reasons or exit codes: of a job that reached its time
limit it has the exit code 0:0, and the reason for which the job had once waited.
"""

from __future__ import annotations

import time

from gpualert_common.errors import SlurmError
from gpualert_common.launch_record import SlurmPlace
from gpualert_common.slurm.accounting import (
    SlurmJob,
    SlurmStep,
    choose_start,
    find_next_start,
    read_job,
)
from gpualert_common.slurm.nodes import NodeEvent, read_node_events, read_node_states
from gpualert_common.slurm.queue import QueuedJob, read_queued_job
from gpualert_common.slurm.states import SlurmState, StateText
from gpualert_common.structs import Struct, replace

_PAUSE_S = 0.3
_NODE_EVENT_BEFORE_S = _NODE_EVENT_AFTER_S = 60.0
"""Slurm notices a failed node some time after it failed, and clocks differ."""
_MOST_LOST_NODES = 8
_ASK_NODES = frozenset(
    (SlurmState.NODE_FAIL, SlurmState.BOOT_FAIL, SlurmState.FAILED, SlurmState.CANCELLED, None)
)
"""States of a job that a failed node may have caused; None while the job goes on."""


class SlurmReport(Struct, frozen=True):
    """The state of a run's job.

    ``job`` is the start of the job in which the run was, by the accounting; ``next_start`` the
    newest one after it, if the job was requeued.  ``queued`` is the job by the controller, which
    may know it longer or shorter.  ``problems`` say which of them could not be asked, and why.
    """

    job: SlurmJob | None = None
    queued: QueuedJob | None = None
    next_start: SlurmJob | None = None
    lost_nodes: tuple[NodeEvent, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def status(self) -> StateText | None:
        """The state of the job: by the accounting, and else by the controller."""
        if self.job is not None and self.job.status.has_ended:
            return self.job.status
        if self.queued is not None and self.queued.status.has_ended:
            return self.queued.status
        is_completing = self.queued and self.queued.status.state is SlurmState.COMPLETING
        if self.queued is not None and (is_completing or self.job is None):
            return self.queued.status
        return None if self.job is None else self.job.status

    @property
    def has_ended(self) -> bool:
        """True if the job ended, or that start of it."""
        return self.status is not None and self.status.has_ended

    @property
    def ended_at(self) -> float | None:
        """Time at which the job ended; None if it has not."""
        if self.job is not None and self.job.status.has_ended:
            return self.job.ended_at
        if self.queued is not None and self.queued.status.has_ended:
            return self.queued.ends_at
        return None

    @property
    def nodes(self) -> str:
        """The list of the job's nodes."""
        return (self.job.nodes if self.job else "") or (self.queued.nodes if self.queued else "")


def ask_slurm(
    place: SlurmPlace, started_at: float, *, patience_s: float = 0.0, deadline_s: float = 5.0
) -> SlurmReport:
    """Return Slurm's report about the job of a run that began at *started_at*.

    The accounting is late by some seconds.  While the controller ends the job, it is asked again
    for *patience_s*.  Each command has the deadline.  Never raises.
    """
    until = time.monotonic() + patience_s
    while True:
        report = _ask_once(place, started_at, deadline_s)
        if _is_settled(report, started_at) or time.monotonic() >= until:
            break
        time.sleep(_PAUSE_S)
    if (report.status.state if report.has_ended and report.status else None) in _ASK_NODES:
        return _with_lost_nodes(report, place, started_at, deadline_s)
    return report


def _ask_once(place: SlurmPlace, started_at: float, deadline_s: float) -> SlurmReport:
    job_id, cluster = place.get("job", ""), place.get("cluster")
    problems: list[str] = []
    starts: list[SlurmJob] = []
    queued: QueuedJob | None = None
    if not job_id.isdigit():
        return SlurmReport(problems=("the number of the job is not known",))
    try:
        starts = read_job(job_id, cluster=cluster, since=started_at, deadline_s=deadline_s)
    except SlurmError as error:
        problems.append(f"accounting: {error}")
    try:
        queued = read_queued_job(job_id, cluster=cluster, deadline_s=deadline_s)
    except SlurmError as error:
        problems.append(f"queue: {error}")
    chosen = choose_start(starts, started_at)
    is_other_start = queued is not None and not _is_same_start(queued, chosen, started_at)
    return SlurmReport(
        job=chosen,
        queued=None if is_other_start else queued,
        next_start=None if chosen is None else find_next_start(starts, chosen),
        problems=tuple(problems),
    )


def _is_same_start(queued: QueuedJob, chosen: SlurmJob | None, started_at: float) -> bool:
    """Return whether the controller has the start of the job in which the run was."""
    if queued.status.state is SlurmState.PENDING:
        return False  # the run was in an earlier start
    if chosen is not None and chosen.started_at is not None and queued.started_at is not None:
        is_completing = queued.status.state is SlurmState.COMPLETING  # its times are those to come
        return is_completing or queued.started_at <= chosen.started_at + 1.0
    return queued.started_at is None or queued.started_at <= started_at + 5.0


def _is_settled(report: SlurmReport, started_at: float) -> bool:
    """Return whether Slurm would say no more if it was asked again."""
    if report.has_ended or (report.problems and report.job is None):
        return True
    if report.job is None or report.queued is None:
        return False
    is_running = report.queued.status.state is SlurmState.RUNNING
    return is_running and not any(_is_unfinished(one, started_at) for one in report.job.steps)


def _is_unfinished(step: SlurmStep, started_at: float) -> bool:
    """Return whether a step that the run may have started has no end yet."""
    is_numbered = step.name.isdigit()
    is_own = step.started_at is not None and step.started_at >= started_at
    return is_numbered and is_own and not step.status.has_ended


def _with_lost_nodes(
    report: SlurmReport, place: SlurmPlace, started_at: float, deadline_s: float
) -> SlurmReport:
    """Return the report with the nodes of the job that failed since the run began."""
    nodes, cluster = report.nodes, place.get("cluster")
    if not nodes or nodes.startswith("None"):
        return report
    since = started_at - _NODE_EVENT_BEFORE_S
    until = None if report.ended_at is None else report.ended_at + _NODE_EVENT_AFTER_S
    problems: list[str] = []
    lost: list[NodeEvent] = []
    for is_present in (False, True):  # the events of the accounting are late
        try:
            if is_present:
                found = read_node_states(nodes, deadline_s=deadline_s)
            else:
                found = read_node_events(nodes, since, cluster=cluster, deadline_s=deadline_s)
        except SlurmError as error:
            problems.append(f"nodes: {error}")
            continue
        lost = [one for one in found if one.is_lost and _is_within(one, since, until)]
        if lost:
            break
    return replace(
        report,
        lost_nodes=tuple(lost[:_MOST_LOST_NODES]),
        problems=(*report.problems, *problems),
    )


def _is_within(event: NodeEvent, since: float, until: float | None) -> bool:
    """Return whether a node was lost in that time; a state without a time is the present one."""
    at = time.time() if event.at is None else event.at
    return at >= since and (until is None or at <= until)
