"""The launch record: the request for a run and the place of its launch, as ``spec.json`` has them.

Written before the launch by :func:`gpualert_common.record.describe`, which imports none of this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self, TypedDict

from gpualert_common.quantities import Number, Seconds, Time
from gpualert_common.structs import Struct, force_setattr

LogName = Literal["output.log", "stdout.log", "stderr.log"]
"""Name of a log in the record; a file of another name is no log of the run."""
Streams = Literal["auto", "merged", "apart"]
_LOGS_OF: dict[Streams, tuple[LogName, ...]] = {
    "auto": ("output.log",),
    "merged": ("output.log",),
    "apart": ("stdout.log", "stderr.log"),
}


class EngineTask(TypedDict, total=False):
    """The task of an engine that a run belongs to, in the engine's own names, for people.

    ``engine`` is "airflow" or "prefect"; ``workflow`` is the DAG or the flow, and ``workflow_run``
    its run; ``map_index`` is absent for a task that is not mapped; ``owner`` is the person or team
    that answers for it; ``url`` is the page of the attempt.  An engine leaves out the names that it
    does not have.
    """

    engine: str
    workflow: str
    workflow_run: str
    task: str
    map_index: Number
    owner: str
    url: str


class Owner(TypedDict, total=False):
    """The attempt of an engine that owns the run from its launch on, and its terms.

    ``told_as`` is the number that the engine shows, if it is not ``number``.  ``task`` names the
    task for people.
    :class:`~gpualert_common.guardian.attempt.Attempt` explains the other keys.
    """

    key: tuple[str, ...]
    owner: str
    number: Number
    fingerprint: str
    lease_s: Seconds
    adopt_within_s: Seconds
    across_hosts: bool
    is_last: bool
    told_as: Number | None
    training: str | None
    task: EngineTask


def read_shown_number(owner: Owner) -> int:
    """Return the number of the attempt for people."""
    return owner.get("told_as") or owner.get("number", 1)


class JobMembership(TypedDict, total=False):
    """The job that a run belongs to, and its place in it.

    ``name`` is the job for people, ``key`` its folder in the job directory.  ``origin`` is the
    party that named it: "option", "engine", "slurm", "torchrun", "kubernetes" or "ray".
    ``attempt`` counts the starts of the whole job as its scheduler or engine does; ``node`` is the
    index of this node and ``nodes`` their number; each is absent if it is not known.
    ``directory`` is the place that the nodes share, absent where a run judges alone.
    """

    key: str
    name: str
    origin: str
    attempt: Number
    node: Number
    nodes: Number
    directory: str


class SlurmPlace(TypedDict, total=False):
    """The place of a run in Slurm, by the variables of its environment.

    ``job`` is the number of the job, also of one in an array, and ``step`` that of the step, absent
    in a batch script.  ``is_task`` is True if the supervisor is itself the task of the step, and
    ``index`` is that of its node.
    """

    job: str
    step: str
    is_task: bool
    index: Number
    cluster: str
    node: str


class ChannelConfig(TypedDict):
    """A channel for alerts, without the secrets that the user passed directly."""

    name: str
    kind: str
    settings: dict[str, Any]


class AlertSettings(TypedDict, total=False):
    """The alerts of a run: their channels, and the options of a run about alerts."""

    channels: list[ChannelConfig]
    on: str
    warn: bool
    deadline_s: Seconds
    artifacts: list[str]
    templates: str | None


class LaunchRecord(Struct, frozen=True, kw_only=True):
    """The launch record of one run; a key that the file lacks has its default.

    ``logs`` is never empty.  ``custody`` is None for a run without a guardian, ``alerts`` for one
    without alerts.  ``tried`` has the locations that could not keep the record, each with its
    problem.  ``job`` is None for a run that belongs to none, and ``slurm`` outside of Slurm's jobs.
    ``supervised`` is False for a run that gpualert did not start; ``said`` is its failure in one
    line, if another program supervised it, and ``unread_output`` the reason why its output is not
    in the logs, if it is not.
    """

    run_id: str | None = None
    command: tuple[str, ...] = ()
    cwd: str | None = None
    name: str | None = None
    logs: tuple[LogName, ...] = ()
    streams: Streams = "merged"
    timeout_s: Seconds | None = None
    grace_s: Seconds = 30.0  # as the option has it: a damaged one must not kill at once
    hang_timeout_s: Seconds | None = None
    on_hang: str = "warn"
    on_slowdown: str = "off"
    log_full: str = "fail"
    pty: bool = False
    end_survivors: bool = False
    custody: Owner | None = None
    job: JobMembership | None = None
    slurm: SlurmPlace | None = None
    rules: str | None = None
    observe: bool = False
    tracing: bool = False
    alerts: AlertSettings | None = None
    created_at: Time = 0.0
    host: str | None = None
    uid: Number | None = None
    boot_id: str | None = None
    pid_namespace: str | None = None
    supervisor_pid: Number = 0
    environment: tuple[str, ...] = ()
    reserved_bytes: Number = 0
    tried: tuple[tuple[str, str], ...] = ()
    supervised: bool = True
    said: str | None = None
    unread_output: str | None = None

    def __post_init__(self) -> None:
        """Name each log once; without a valid name, the logs are those of the streams."""
        logs: tuple[LogName, ...] = tuple(dict.fromkeys(self.logs)) or _LOGS_OF[self.streams]
        force_setattr(self, "logs", logs)

    @classmethod
    def of_own(cls, fields: Mapping[str, Any]) -> Self:
        """Return the launch record that this process wrote; it is valid, so nothing is checked."""
        return cls(**{name: fields[name] for name in cls.__struct_fields__ if name in fields})

    @property
    def owner(self) -> Owner:
        """The owner at the launch; empty for a run without a guardian."""
        return self.custody or Owner()

    @property
    def is_watched(self) -> bool:
        """True for a process that gpualert did not start and watches; its user is known.

        Another program supervised the other runs that gpualert did not start.
        """
        return not self.supervised and self.uid is not None
