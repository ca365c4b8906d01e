"""The row of the history for one ended run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Self

from gpualert_common.history.fingerprint import compute_fingerprint
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.model import Verdict
from gpualert_common.structs import Struct, replace

_MOST_CHARS = 300
_MOST = 1 << 62
"""Limit of numbers in SQLite; no measurement comes near it."""


class PastRun(Struct, frozen=True):
    """One ended run; None means unknown.

    Times are in seconds since the epoch.  ``steps`` is the last step minus the first one,
    ``step_time_s`` the median; ``throughput`` is in ``throughput_unit``, such as "tokens/s".
    ``wasted_gpu_seconds`` is the part of ``gpu_seconds`` without a lasting result.  ``resumed`` is
    whether the training resumed from a checkpoint.  A loss is finite.

    ``task`` is equal for all attempts of an engine at one task.  ``gpu_percent`` is the utilization
    of the busiest GPU.  ``cpus`` is the number of processors that the run could use.  ``settings``
    and ``versions`` are words NAME=VALUE, in order.
    """

    run_id: str
    fingerprint: str
    started_at: float
    ended_at: float | None = None
    name: str | None = None
    host: str | None = None
    disposition: str | None = None
    cause: str | None = None
    family: str | None = None
    steps: int | None = None
    last_step: int | None = None
    total_steps: int | None = None
    step_time_s: float | None = None
    throughput: float | None = None
    throughput_unit: str | None = None
    first_loss: float | None = None
    last_loss: float | None = None
    best_loss: float | None = None
    gpus: int | None = None
    gpu_seconds: float | None = None
    wasted_gpu_seconds: float | None = None
    peak_host_memory_bytes: int | None = None
    peak_gpu_memory_bytes: int | None = None
    resumed: bool | None = None
    task: str | None = None
    saves: int | None = None
    gpu_model: str | None = None
    gpu_percent: float | None = None
    cpus: int | None = None
    settings: str | None = None
    versions: str | None = None

    @property
    def duration_s(self) -> float | None:
        """Duration of the run; None if the time of its end is unknown."""
        return None if self.ended_at is None else max(0.0, self.ended_at - self.started_at)

    @property
    def saves_per_step(self) -> float | None:
        """Checkpoints per step; None if either is unknown."""
        return self.saves / self.steps if self.saves is not None and self.steps else None

    @property
    def is_healthy(self) -> bool:
        """True when it completed and no failure was found."""
        return self.disposition == "completed" and self.cause == "none"

    @classmethod
    def from_fields(cls, found: Mapping[str, Any]) -> Self:
        """Return the run with these fields; a value of a wrong type or size becomes None.

        Raises ValueError if run id, fingerprint or start is missing.
        """
        known = {name: _convert(_TYPES[name], found.get(name)) for name in COLUMNS}
        if not (known["run_id"] and known["fingerprint"]) or known["started_at"] is None:
            raise ValueError("not a run: run_id, fingerprint and started_at are needed")
        if "/" in known["run_id"] or known["run_id"].startswith("."):
            raise ValueError(f"{known['run_id']!r} is not a valid run id: it cannot be a file name")
        return cls(**known)


_TYPES = {name: kind.partition(" |")[0] for name, kind in PastRun.__annotations__.items()}
COLUMNS = tuple(_TYPES)


def compute_run_fingerprint(launch_record: LaunchRecord) -> str | None:
    """Return the fingerprint of a run's training; None for a launch record without a command.

    An engine names its runs at random, but its training once for all of them.
    """
    if not launch_record.command:
        return None
    training = launch_record.owner.get("training")
    name = launch_record.name if training is None else training
    return compute_fingerprint(launch_record.command, launch_record.cwd, name)


def compute_task_digest(launch_record: LaunchRecord) -> str | None:
    """Return a digest that all attempts of an engine at one task share; None without a task."""
    key = launch_record.owner.get("key")
    return None if not key else hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]


def make_past_run(
    launch_record: LaunchRecord, ending: Mapping[str, Any], verdict: Verdict | None
) -> PastRun | None:
    """Return the row of a run, from its launch record, exit.json and verdict.

    None for a run that another program supervised, and if command or times are missing.  Numbers
    come from the verdict's ``measured``.  If that lacks them, GPU-seconds are GPUs times duration,
    and a successful run wasted none.
    """
    if not (launch_record.supervised or launch_record.is_watched):
        return None
    found: dict[str, Any] = {}
    if verdict is not None:
        found = {
            **verdict.measured,
            "disposition": str(verdict.disposition),
            "cause": verdict.cause,
            "family": verdict.family,
        }
    found |= {
        "run_id": launch_record.run_id,
        "fingerprint": compute_run_fingerprint(launch_record),
        "task": compute_task_digest(launch_record),
        "name": launch_record.name,
        "host": launch_record.host,
        "started_at": ending.get("started_at"),
        "ended_at": ending.get("ended_at"),
    }
    try:
        run = PastRun.from_fields(found)
    except ValueError:
        return None
    if run.gpu_seconds is None and run.gpus is not None and run.duration_s is not None:
        run = replace(run, gpu_seconds=run.gpus * run.duration_s)
    if run.wasted_gpu_seconds is None and run.gpu_seconds is not None and run.is_healthy:
        run = replace(run, wasted_gpu_seconds=0.0)
    return run


def _convert(type_name: str, value: Any) -> Any:
    """Return ``value`` as that type; None if it is not one."""
    if type_name == "str":
        if not isinstance(value, str):
            return None
        return value.encode("utf-8", "replace").decode()[:_MOST_CHARS]  # SQLite rejects surrogates
    if type_name == "bool":
        return bool(value) if value in (0, 1) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not abs(value) < _MOST:  # also true for NaN
        return None
    return int(value) if type_name == "int" else float(value)
