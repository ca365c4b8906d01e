"""A finished attempt at a task, as a callback sees it in any process.

In the task's own process the exception is known.  When that process was killed, the callback runs
in the DAG processor, without the exception and maybe on another host.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from airflow.providers.common.compat.sdk import AirflowTaskTimeout

from gpualert_common.errors import GPUAlertError
from gpualert_common.external_run import (
    ExternalRun,
    find_exit_code,
    format_error,
    format_traceback,
)
from gpualert_common.guardian.failure import find_failed_run
from gpualert_common.guardian.keys import Key
from gpualert_common.record import OUTCOME, Record
from gpualert_common.spec import Ending
from gpualert_common.structs import Struct
from gpualert_common.whole_words import cut_to_last_lines, cut_words
from gpualert_provider.identity import describe_task, get_map_index, make_name, make_task_key
from gpualert_provider.stopping import find_state
from gpualert_provider.task_log import TaskLog
from gpualert_provider.task_outcome import GOOD_STATES, find_outcome

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

_MOST_TRACEBACK_CHARACTERS = 1 << 20
_MOST_ARGUMENT_CHARACTERS = 4096


class FinishedAttempt(Struct, frozen=True):
    """A finished attempt.  ``state`` is the task's state, ``error`` its exception or a text."""

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
        """Return the attempt of a callback's context, which may lack any part of it."""
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
            started_at=_seconds(getattr(ti, "start_date", None)) or _started_at(context),
            ended_at=_seconds(getattr(ti, "end_date", None)) or time.time(),
            error=error if isinstance(error, BaseException | str) else None,
            task=context.get("task") or getattr(ti, "task", None),
            ti=ti,
        )

    def find_training(self, state_dir: str | None) -> Record | None:
        """Return the record of this attempt's training; None without one."""
        record = find_failed_run(self.error)
        if record is not None:
            return record
        with contextlib.suppress(GPUAlertError, OSError):
            for path in reversed(Key(self.key, state_dir).runs()):
                record = Record.open(path)
                if self.number in list_attempt_numbers(record):
                    return record
        return None

    def to_external_run(self) -> ExternalRun:
        """Return the attempt as a run that no guardian supervised."""
        log = TaskLog.of(self.ti)
        return ExternalRun(
            key=self.key,
            number=self.number,
            name=self.name,
            state=self.state,
            ending=self._ending(log),
            is_last=self.is_last,
            command=tuple(self._command()),
            log=log.output + self._program_error(),
            unread_log=("task_log", log.why_unread) if log.why_unread else None,
            statement=f"Airflow says {self.error}" if isinstance(self.error, str) else "",
            task=describe_task(self.ti, self.task),
        )

    def _ending(self, log: TaskLog) -> Ending:
        """Return the ending; an exception without an exit status counts as 1, as in Python."""
        ending = Ending(self.started_at, max(self.started_at, self.ended_at))
        if self.state in GOOD_STATES:
            ending.code = 0
        elif isinstance(self.error, AirflowTaskTimeout):
            ending.limit = "time"
        elif isinstance(self.error, BaseException):
            ending.code = find_exit_code(format_error(self.error)) or 1
        else:
            ending.code = find_exit_code(self.error or "") or log.exit_code
        return ending

    def _program_error(self) -> bytes:
        """Return the traceback of the exception; b"" for one that only reports an exit status.

        An operator of Airflow raises that one, and it says nothing else about the program.
        """
        error = self.error
        if not isinstance(error, BaseException):
            return b""
        frames = _own_frames(error)
        if frames is None and find_exit_code(format_error(error)) is not None:
            return b""
        text = cut_to_last_lines(format_traceback(error, frames), _MOST_TRACEBACK_CHARACTERS)
        return text.encode("utf-8", "backslashreplace")

    def _command(self) -> list[str]:
        arguments = getattr(self.task, "command", None)
        if isinstance(arguments, list | tuple):
            return [cut_words(str(argument), _MOST_ARGUMENT_CHARACTERS) for argument in arguments]
        command = getattr(self.task, "bash_command", None)
        if isinstance(command, str):
            return ["bash", "-c", cut_words(command, _MOST_ARGUMENT_CHARACTERS)]
        return [] if self.task is None else [type(self.task).__name__]


def _own_frames(error: BaseException) -> TracebackType | None:
    """Return the traceback from the first frame that is not Airflow's own."""
    frames = error.__traceback__
    while frames is not None and _is_airflow(frames.tb_frame.f_globals.get("__name__")):
        frames = frames.tb_next
    return frames


def _is_airflow(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == "airflow"


def _state(context: Any, ti: Any, *, is_last: bool) -> str:
    """Return the task's state.  The DAG processor does not give it, and reports only failures."""
    state = getattr(ti, "state", None)
    state = str(getattr(state, "value", state))
    if ti is None and context.get("reason") == "success":
        return "success"
    if state not in (*GOOD_STATES, "failed", "up_for_retry"):
        state = "failed" if is_last else "up_for_retry"
    # Only the attempt itself has its error; the DAG processor may run this after a later attempt.
    is_own = isinstance(context.get("exception"), BaseException)
    return _find_marked_state(ti) or state if is_own and state == "up_for_retry" else state


def _find_marked_state(ti: Any) -> str | None:
    """Return the final state that a user gave the task while it ran; None without one.

    Airflow then calls ``on_retry_callback``, as if a retry followed.
    """
    try:
        marked = find_outcome(find_state(ti), 0.0)
    except Exception:  # noqa: BLE001 - Airflow failed, or the DAG processor runs this
        return None
    return marked.state if marked is not None and marked.is_final else None


def _key_and_name(context: Any, ti: Any) -> tuple[tuple[str, ...], str]:
    """Return GPUAlertOperator's key of the task; that of the DAG run when there is no task."""
    key = make_task_key(ti)
    if key is None:
        dag_id = str(getattr(context.get("dag"), "dag_id", "unknown"))
        return ("airflow", dag_id, str(context.get("run_id"))), dag_id
    return key, make_name(ti.dag_id, ti.task_id, get_map_index(ti))


def list_attempt_numbers(record: Record) -> set[int]:
    """Return the attempts that had this run; some may have adopted it or claimed its result."""
    parts = [record.spec.custody, record.read_json(OUTCOME)]
    parts += [event.fields for event in record.events() if event.name == "adopted"]
    return {part["number"] for part in parts if part and isinstance(part.get("number"), int)}


def _started_at(context: Any) -> float:
    """Return the start of the DAG run, equal in all callbacks of an attempt without a start."""
    return _seconds(getattr(context.get("dag_run"), "start_date", None)) or 0.0


def _seconds(at: Any) -> float:
    return at.timestamp() if isinstance(at, datetime) else 0.0
