"""An attempt at a task that has ended, as its callbacks see it, in whichever process they run.

In the task's own process the exception is there.  When that one was killed, the callback runs in
the DAG processor, knows no exception, and may be on another host.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from airflow.providers.common.compat.sdk import AirflowTaskTimeout

from gpualert_common.errors import GPUAlertError
from gpualert_common.external_run import record_run, run_id_of
from gpualert_common.guardian.failure import TrainingFailure
from gpualert_common.guardian.keys import Key
from gpualert_common.record import OUTCOME, Record
from gpualert_common.spec import SCHEMA, Ending
from gpualert_provider.identity import index_of, key_of
from gpualert_provider.output import task_log

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

_EXIT_CODE = re.compile(r"(?:exit|return) code:? (-?\d{1,5})\b")
_WELL = ("success", "skipped")
_MOST_TRACEBACK = 1 << 20
_MOST_COMMAND = 4096


@dataclass(frozen=True)
class FinishedAttempt:
    """What is known of it.  ``state`` is what the task became, ``error`` its exception or text."""

    key: tuple[str, ...]
    name: str
    number: int
    is_last: bool
    state: str
    started_at: float
    ended_at: float
    error: BaseException | str | None
    task: Any
    ti: Any

    @classmethod
    def of(cls, context: Context | Mapping[str, Any]) -> Self:
        """From a callback's context; what is not in it is taken for unknown."""
        ti = context.get("ti")
        error: Any = context.get("exception")
        number = getattr(ti, "try_number", None) or 1
        state = _state(context, ti, is_last=number > (getattr(ti, "max_tries", None) or 0))
        key, name = _key_and_name(context, ti)
        return cls(
            key=key,
            name=name,
            number=number,
            is_last=state != "up_for_retry",
            state=state,
            started_at=_seconds(getattr(ti, "start_date", None)) or _began(context),
            ended_at=_seconds(getattr(ti, "end_date", None)) or time.time(),
            error=error if isinstance(error, BaseException | str) else None,
            task=context.get("task") or getattr(ti, "task", None),
            ti=ti,
        )

    def training(self, state_dir: str | None) -> Record | None:
        """The record of this attempt's training; None where there is none."""
        if isinstance(self.error, TrainingFailure) and self.error.log_path:
            with contextlib.suppress(GPUAlertError):
                return Record.open(os.path.dirname(self.error.log_path))
        with contextlib.suppress(GPUAlertError, OSError):
            for path in reversed(Key(self.key, state_dir).runs()):
                record = Record.open(path)
                if self.number in _numbers(record):
                    return record
        return None

    def recorded(self, alerts: Mapping[str, Any], state_dir: str | None) -> Record:
        """A record of this attempt, made from what is known, or as an earlier callback made it.

        Raises NoDurableLogError.
        """
        number, is_last = self.number, self.is_last
        record = record_run(
            self._ending(),
            run_id=run_id_of(self.key, number, self.started_at),
            state_dir=state_dir,
            log=self._log(),
            name=self.name,
            command=self._command(),
            custody={"key": self.key, "number": number, "is_last": is_last},
            alerts=dict(alerts),
        )
        outcome = {"schema": SCHEMA, "state": self.state, "final": is_last, "number": number}
        with contextlib.suppress(OSError):
            record.write_json(OUTCOME, {**outcome, "at": self.ended_at, "next_within_s": None})
        return record

    def _ending(self) -> Ending:
        """An error without a status counts as the 1 of a Python program that raises it."""
        ending = Ending(self.started_at, max(self.started_at, self.ended_at))
        if self.state in _WELL:
            ending.code = 0
        elif isinstance(self.error, AirflowTaskTimeout):
            ending.limit = "time"
        elif found := _EXIT_CODE.search(_message(self.error)):
            ending.code = int(found[1])
        elif self.error is not None:
            ending.code = 1
        return ending

    def _log(self) -> bytes:
        """The end of the task's own log where that is on this host, and the error."""
        said = task_log(self.ti)
        text = _traceback(self.error) if isinstance(self.error, BaseException) else self.error or ""
        return said + text.encode("utf-8", "backslashreplace")[-_MOST_TRACEBACK:]

    def _command(self) -> list[str]:
        arguments = getattr(self.task, "command", None)
        if isinstance(arguments, list | tuple):
            return [str(argument)[:_MOST_COMMAND] for argument in arguments]
        command = getattr(self.task, "bash_command", None)
        if isinstance(command, str):
            return ["bash", "-c", command[:_MOST_COMMAND]]
        return [] if self.task is None else [type(self.task).__name__]


def _message(error: BaseException | str | None) -> str:
    """What the error says; also of one whose ``str()`` fails."""
    if isinstance(error, BaseException):
        return "".join(traceback.format_exception_only(error))
    return error or ""


def _traceback(error: BaseException) -> str:
    """The error as Python shows it, from the first frame that is not Airflow's own."""
    frame = error.__traceback__
    while frame is not None and _is_airflow(frame.tb_frame.f_globals.get("__name__")):
        frame = frame.tb_next
    return "".join(traceback.format_exception(type(error), error, frame))


def _is_airflow(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == "airflow"


def _state(context: Any, ti: Any, *, is_last: bool) -> str:
    """What the task became; the DAG processor does not say, and only calls back on failures."""
    state = getattr(ti, "state", None)
    state = str(getattr(state, "value", state))
    if ti is None and context.get("reason") == "success":
        return "success"
    if state in (*_WELL, "failed", "up_for_retry"):
        return state
    return "failed" if is_last else "up_for_retry"


def _key_and_name(context: Any, ti: Any) -> tuple[tuple[str, ...], str]:
    """The same key as GPUAlertOperator's; of a DAG run where there is no task."""
    key = key_of(ti)
    if key is None:
        dag_id = str(getattr(context.get("dag"), "dag_id", "unknown"))
        return ("airflow", dag_id, str(context.get("run_id"))), dag_id
    index = index_of(ti)
    return key, f"{ti.dag_id}.{ti.task_id}" + (f"[{index}]" if index >= 0 else "")


def _numbers(record: Record) -> set[int]:
    """Every attempt that had this run: it may have been adopted, or its result claimed."""
    spoken = [record.spec.get("custody"), record.read_json(OUTCOME)]
    spoken += [event for event in record.events() if event.get("event") == "adopted"]
    return {part["number"] for part in spoken if part and isinstance(part.get("number"), int)}


def _began(context: Any) -> float:
    """The same for every callback of an attempt whose start is not known."""
    return _seconds(getattr(context.get("dag_run"), "start_date", None)) or 0.0


def _seconds(at: Any) -> float:
    return at.timestamp() if isinstance(at, datetime) else 0.0
