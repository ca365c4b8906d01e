"""What is kept of a run that has ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from gpualert_common.history.fingerprint import compute_fingerprint
from gpualert_common.model import Verdict

_MOST_CHARS = 300
_MOST = 1 << 62
"""What SQLite takes as a number; nothing measured comes near it."""


@dataclass(frozen=True, slots=True)
class PastRun:
    """One ended run; what is None is not known.

    Times are in seconds since the epoch.  ``steps`` is the last step minus the first one,
    ``step_time_s`` the median; ``throughput`` is in ``throughput_unit``, as "tokens/s".
    ``wasted_gpu_seconds`` is the part of ``gpu_seconds`` that left nothing behind.  ``resumed``
    says whether the training went on from a checkpoint.  A loss is finite.

    ``task`` is the same for all attempts of an engine at one task.  ``gpu_percent`` is how much of
    the time the busiest GPU worked, ``cpus`` on how many processors the run was allowed to be;
    ``settings`` and ``versions`` are words NAME=VALUE, in order.
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
        """How long it ran; None where its end was seen by nobody."""
        return None if self.ended_at is None else max(0.0, self.ended_at - self.started_at)

    @property
    def saves_per_step(self) -> float | None:
        """Checkpoints for each of its steps; None where either is not known."""
        return self.saves / self.steps if self.saves is not None and self.steps else None

    @property
    def is_healthy(self) -> bool:
        """True when it completed and no failure was found."""
        return self.disposition == "completed" and self.cause == "none"

    @classmethod
    def from_fields(cls, found: Mapping[str, Any]) -> Self:
        """The run that these fields describe; one of a wrong type or size counts as not known.

        Raises ValueError where run id, fingerprint or start are missing.
        """
        known = {name: _convert(_TYPES[name], found.get(name)) for name in COLUMNS}
        if not (known["run_id"] and known["fingerprint"]) or known["started_at"] is None:
            raise ValueError("not a run: run_id, fingerprint and started_at are needed")
        if "/" in known["run_id"] or known["run_id"].startswith("."):
            raise ValueError(f"{known['run_id']!r} names no run: it would be no name of a file")
        return cls(**known)


_TYPES = {field.name: str(field.type).partition(" |")[0] for field in fields(PastRun)}
COLUMNS = tuple(_TYPES)


def compute_run_fingerprint(launch_record: Mapping[str, Any]) -> str | None:
    """Which training a run is of, from spec.json; None where that does not say what was run.

    An engine names its runs at random, and its training once for all of them.
    """
    command = launch_record.get("command")
    if not isinstance(command, list | tuple) or not command:
        return None
    training = _get_ownership(launch_record).get("training")
    name = training if isinstance(training, str) else _get_text(launch_record, "name")
    return compute_fingerprint(
        [str(word) for word in command], _get_text(launch_record, "cwd"), name
    )


def compute_task_digest(launch_record: Mapping[str, Any]) -> str | None:
    """A digest of what all attempts of an engine at one task have in common; None without one."""
    key = _get_ownership(launch_record).get("key")
    return None if not key else hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]


def _get_ownership(launch_record: Mapping[str, Any]) -> Mapping[str, Any]:
    custody = launch_record.get("custody")
    return custody if isinstance(custody, dict) else {}


def _get_text(launch_record: Mapping[str, Any], key: str) -> str | None:
    value = launch_record.get(key)
    return value if isinstance(value, str) else None


def make_past_run(
    launch_record: Mapping[str, Any], ending: Mapping[str, Any], verdict: Verdict | None
) -> PastRun | None:
    """What is to be kept of a run, from spec.json, exit.json and verdict.json.

    None for one that was not supervised, and where they do not even say what ran when.  Numbers
    come from the verdict's ``measured``.  Where that does not say it, GPU-seconds are GPUs times
    duration, and what completed well has wasted none.
    """
    if not launch_record.get("supervised", True):
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
        "run_id": launch_record.get("run_id"),
        "fingerprint": compute_run_fingerprint(launch_record),
        "task": compute_task_digest(launch_record),
        "name": launch_record.get("name"),
        "host": launch_record.get("host"),
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
    """``value`` as one of that type_name; None where it is none."""
    if type_name == "str":
        if not isinstance(value, str):
            return None
        return value.encode("utf-8", "replace").decode()[:_MOST_CHARS]  # SQLite takes no surrogates
    if type_name == "bool":
        return bool(value) if value in (0, 1) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not abs(value) < _MOST:  # nor of NaN
        return None
    return int(value) if type_name == "int" else float(value)
