"""Slurm, for a run inside one of its jobs: the time that is left, and nodes that failed.

The controller is asked at the start and every five minutes, by the run on the first node of the job
only.  When a run fails or is stopped, the accounting (``sacct``) is asked once more: by its state,
the job reached its time limit, was preempted, cancelled or requeued, lost a node, or ran out of
memory.  Only the first eight nodes of a job ask then.  Without accounting the queue (``squeue``)
shows the state, for some minutes after the end.  Needs no privilege, and Slurm's commands in PATH.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from gpualert_common.errors import GPUAlertError, SlurmError
from gpualert_common.launch_record import SlurmPlace
from gpualert_common.record import Record
from gpualert_common.slurm.nodes import read_node_states
from gpualert_common.slurm.queue import QueuedJob, read_cluster_name, read_queued_job
from gpualert_common.telemetry.slurm_events import make_node_event
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    SourceUnavailableError,
)

PAUSE_S = 300.0
"""Seconds between two requests: each one costs the controller of the whole cluster."""
_MOST_EVENTS = 50


class SlurmJobState(Source):
    """The state of the job in which the run is.

    Numbers, of "slurm": ``time_left_seconds`` until the limit of the job, and ``nodes_lost``.

    Events: ``slurm_node_lost`` for each node of the job that is down or does not answer, once.  The
    events ``slurm_job`` and ``slurm_step_memory`` follow at the end of a run that failed.
    """

    decides = (
        "time limits, preemptions, cancellations, lost nodes and memory kills of steps, by the "
        "states of the job in Slurm's accounting"
    )

    def __init__(self, run: ObservedRun | None) -> None:
        self._place = _find_place(run)
        self._next_at = 0.0
        self._job: QueuedJob | None = None
        self._has_new_states = False
        self._lost: set[str] = set()
        try:
            self._ask()
        except SlurmError as error:
            remedy = "install Slurm's commands on the nodes" if error.is_missing else ""
            raise SourceUnavailableError(str(error), remedy) from None

    @property
    def facts(self) -> Mapping[str, Any]:
        """The job, its nodes, and the time at which its limit is reached."""
        job = self._job
        found = {
            "job": self._place.get("job"),
            "nodes": None if job is None else job.nodes,
            "ends_at": None if job is None else job.ends_at,
        }
        return {name: value for name, value in found.items() if value}

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """Yield the time that is left, and each node that failed since the last request."""
        if time.monotonic() >= self._next_at:
            self._ask()
        job = self._job
        if job is None or job.ends_at is None:
            return
        left_s = max(0.0, round(job.ends_at - time.time()))
        yield from self._find_lost_nodes(job)
        yield Sample("slurm", {"time_left_seconds": left_s, "nodes_lost": len(self._lost)})

    def _ask(self) -> None:
        """Read the job from the controller.  Raises SlurmError."""
        self._next_at = time.monotonic() + PAUSE_S
        self._has_new_states = True
        job_id = self._place.get("job")
        if job_id is None:
            read_cluster_name()
        else:
            self._job = read_queued_job(job_id) or self._job

    def _find_lost_nodes(self, job: QueuedJob) -> list[SourceEvent]:
        if not self._has_new_states or not job.nodes:
            return []
        self._has_new_states = False
        try:
            states = read_node_states(job.nodes)
        except SlurmError:
            return []  # the next request may be answered
        now = time.time()
        found = [one for one in states if one.is_lost and one.node not in self._lost]
        self._lost |= {one.node for one in found}
        return [make_node_event(one, now) for one in found][:_MOST_EVENTS]


SOURCE: type[Source] = SlurmJobState


def _find_place(run: ObservedRun | None) -> SlurmPlace:
    """Return the place of a run in Slurm.  Raises SourceUnavailableError."""
    if run is None:
        return {}
    try:
        record = Record.open(run.record_path)
        try:
            place = record.spec.slurm
        finally:
            record.close()
    except GPUAlertError as error:
        raise SourceUnavailableError(f"the record cannot be read: {error}") from None
    if place is None:
        raise SourceUnavailableError("the run is not in a job of Slurm")
    if place.get("index", 0):
        raise SourceUnavailableError("the run on the first node of the job asks Slurm")
    return place
