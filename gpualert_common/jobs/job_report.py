"""The report of a job: its verdict, and its nodes."""

from __future__ import annotations

from enum import StrEnum

from gpualert_common.model import SCHEMA, Verdict
from gpualert_common.structs import Struct

JOB_REPORT = "job_report.json"
"""File of the report in the record of the run that sends the alert about its job."""


class NodeState(StrEnum):
    """State of a node in its job."""

    RUNNING = "running"
    ENDED = "ended"
    SILENT = "silent"
    """Its digest is overdue, and has no end."""
    MISSING = "missing"
    """The job expects it, and it has no digest."""


class NodePart(StrEnum):
    """Part of a node in the failure of its job."""

    CULPRIT = "culprit"
    """It has the root cause."""
    SAME = "same"
    """It has the same cause as the culprit, independently of it."""
    CASCADE = "cascade"
    """It failed because another node did."""
    HEALTHY = "healthy"
    UNKNOWN = "unknown"


class JobState(StrEnum):
    """State of a job."""

    RUNNING = "running"
    FAILING = "failing"
    """A node has failed, and others still run."""
    ENDED = "ended"


class NodeSummary(Struct, frozen=True, kw_only=True):
    """One node of a job.  Times are corrected by the offset of its clock.

    ``ranks`` are its ranks in short form, such as "8-15".  ``failed_at`` is the time of its first
    failure that is no cascade, else of its end.
    """

    host: str
    state: NodeState
    part: NodePart
    node: int | None = None
    ranks: str = ""
    run_id: str | None = None
    record_path: str = ""
    cause: str | None = None
    disposition: str | None = None
    exit_code: int | None = None
    headline: str = ""
    started_at: float | None = None
    failed_at: float | None = None
    ended_at: float | None = None
    heard_at: float | None = None
    position: float | None = None
    pace_s: float | None = None
    gpu_percent: float | None = None
    clock_offset_s: float = 0.0


class JobReport(Struct, frozen=True, kw_only=True):
    """A job at one time.

    ``verdict`` is that of the whole job: ``run_id`` and ``host`` are those of the culprit, or None;
    its ``details`` name ``node``, ``rank`` and the numbers of nodes.  ``attempt`` counts from 1, as
    the scheduler does, and ``attempts`` is the number of those with digests.  ``nodes`` begin with
    the culprit.  ``is_settled`` says that no digest that is still to come can be expected to change
    the cause; ``due_at`` is the time at which it will be, at the latest.
    """

    job: str
    name: str
    state: JobState
    verdict: Verdict
    attempt: int
    attempts: int
    nodes: tuple[NodeSummary, ...]
    expected_nodes: int | None = None
    world_size: int | None = None
    started_at: float = 0.0
    ended_at: float | None = None
    is_settled: bool = False
    due_at: float = 0.0
    schema: int = SCHEMA

    @property
    def has_all_ends(self) -> bool:
        """True once all runs of the job have ended, and have a digest."""
        return all(one.state is NodeState.ENDED for one in self.nodes)
