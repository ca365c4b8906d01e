"""Summary of a run: the facts that the list of runs shows."""

from __future__ import annotations

import os
import pwd
import shlex
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from gpualert_common.codec import encode
from gpualert_common.errors import RecordError
from gpualert_common.history import make_past_run
from gpualert_common.launch_record import JobMembership
from gpualert_common.listing.condition import Condition, determine_condition
from gpualert_common.listing.run_names import find_map_index, list_names
from gpualert_common.record import Record, RunState
from gpualert_common.structs import Struct

_TIMES = ("started_at", "ended_at")


class RunSummary(Struct, frozen=True, kw_only=True):
    """One run; None means unknown, or not yet.

    ``names`` has the name to show first.  ``exit_code`` is that for Python, -n for signal n;
    ``shell_code`` that of a shell, 128+n.  ``user`` is the login name of the user who launched it,
    or the number of one without a name, on ``host``; ``owner`` the person or team that answers for
    the task of an engine.  ``job`` is the job that it belongs to, with its place in it.
    ``warnings`` are the kinds of those in its verdict.  ``error`` is the reason why its record
    cannot be read; all other facts are then unknown.
    """

    run_id: str
    path: str
    condition: Condition
    names: tuple[str, ...] = ()
    map_index: int | None = None
    state: str = Condition.DAMAGED
    command: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    pid: int | None = None
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    shell_code: int | None = None
    verdict_pending: bool = False
    disposition: str | None = None
    cause: str | None = None
    attribution: str | None = None
    headline: str | None = None
    warnings: tuple[str, ...] = ()
    gpus: int | None = None
    gpu_seconds: float | None = None
    wasted_gpu_seconds: float | None = None
    user: str | None = None
    host: str | None = None
    owner: str | None = None
    job: JobMembership | None = None
    error: str | None = None

    @property
    def name(self) -> str | None:
        """Name of the run's request."""
        return self.names[-1] if self.names else None

    @property
    def duration_s(self) -> float | None:
        """Time from the start to the end of a run that has ended."""
        if self.started_at is None or self.ended_at is None:
            return None
        return max(0.0, self.ended_at - self.started_at)

    def has_name(self, pattern: str) -> bool:
        """True if a name of the run matches a glob pattern; without a name, its command."""
        names = self.names or (shlex.join(self.command),)
        return any(fnmatchcase(name, pattern) or name == pattern for name in names)

    def has_user(self, name: str) -> bool:
        """True if that user launched the run, or answers for its task."""
        return name in (self.user, self.owner)

    def has_job(self, pattern: str) -> bool:
        """True if the run belongs to the job of this key, or whose name matches a glob pattern."""
        if self.job is None:
            return False
        names = (self.job.get("name", ""), self.job.get("key", ""))
        return any(name and (fnmatchcase(name, pattern) or name == pattern) for name in names)

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``gpualert runs --json`` prints."""
        fields = encode(self)
        del fields["names"], fields["gpu_seconds"], fields["wasted_gpu_seconds"]
        fields |= {
            "name": self.name,
            "logs": [os.path.join(self.path, name) for name in self.logs],
            "duration_s": self.duration_s,
            "gpu_hours": _to_hours(self.gpu_seconds),
            "wasted_gpu_hours": _to_hours(self.wasted_gpu_seconds),
        }
        if self.error is None:
            del fields["error"]
        return fields


def summarize(record: Record) -> RunSummary:
    """Return the summary of a run.  Raises RecordError."""
    spec = record.spec
    ending = record.ending
    verdict = record.verdict
    state = RunState.ENDED if ending else record.state
    exit_code = ending.exit_code if ending else None
    disposition = str(verdict.disposition) if verdict else None
    cause = verdict.cause if verdict else None
    condition = determine_condition(state, disposition, cause, exit_code)
    if not spec.name and not spec.command:
        condition = Condition.DAMAGED
    row = None
    if ending and verdict and verdict.measured:
        row = make_past_run(spec, {name: getattr(ending, name) for name in _TIMES}, verdict)
    return RunSummary(
        run_id=record.run_id,
        path=record.path,
        condition=condition,
        names=tuple(list_names(spec)),
        map_index=find_map_index(spec),
        state=state,
        command=spec.command,
        logs=spec.logs,
        pid=record.leader_pid if ending is None else None,
        started_at=ending.started_at if ending else spec.created_at or None,
        ended_at=ending.ended_at if ending else None,
        exit_code=exit_code,
        shell_code=ending.shell_code if ending and exit_code is not None else None,
        verdict_pending=record.is_verdict_pending,
        disposition=disposition,
        cause=cause,
        attribution=str(verdict.attribution) if verdict else None,
        headline=verdict.headline if verdict else None,
        warnings=tuple(one.kind for one in verdict.warnings) if verdict else (),
        gpus=row.gpus if row else None,
        gpu_seconds=row.gpu_seconds if row else None,
        wasted_gpu_seconds=row.wasted_gpu_seconds if row else None,
        user=None if spec.uid is None else name_user(spec.uid),
        host=spec.host,
        owner=spec.owner.get("task", {}).get("owner") or None,
        job=spec.job,
    )


def summarize_checked(path: str) -> RunSummary | None:
    """Return the summary of the record at a path; None for one that is not trusted.

    The summary of a damaged record says so.
    """
    try:
        record = Record.open(path)
    except RecordError:
        return None
    try:
        record.check_values()
        return summarize(record)
    except (RecordError, OSError) as error:
        return RunSummary(
            run_id=record.run_id,
            path=record.path,
            condition=Condition.DAMAGED,
            error=str(error),
        )
    finally:
        record.close()


@cache
def name_user(uid: int) -> str:
    """Return the login name of a user; the number of one without a name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError, ValueError):
        return str(uid)


def _to_hours(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 3600
