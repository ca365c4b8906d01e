"""Task runs and flow runs whose end no training of ours explains, as external runs."""

from __future__ import annotations

from signal import SIGTERM
from typing import Any

from prefect.client.schemas.objects import FlowRun, State, TaskRun

from gpualert_common.external_run import (
    ExternalRun,
    find_exit_code,
    format_error,
    format_traceback,
)
from gpualert_common.launch_record import EngineTask
from gpualert_common.spec import Ending
from gpualert_common.whole_words import cut_to_last_lines, cut_words
from prefect_gpualert.attempts import find_attempt_number, find_shown_number
from prefect_gpualert.contexts import current
from prefect_gpualert.engine_task import describe_task

_MOST_CHARACTERS = 64 << 10
_MOST_LINE = 500
_BEFORE_EXCEPTION = (
    "Task run encountered an exception ",
    "Flow run encountered an exception: ",
    "Execution was interrupted by an unexpected exception: ",
)
"""Prefect's own words in front of an exception in the message of a state."""
_UNREAD = ("run_log", "Prefect passes a hook the state of the run, not its log")


def make_external_run(run: TaskRun | FlowRun, owner: Any, state: State[Any]) -> ExternalRun:
    """Return a finished run of Prefect as an external run; ``owner`` is its task or its flow."""
    key: tuple[str, ...]
    if isinstance(run, TaskRun):
        key = ("prefect", str(run.flow_run_id or ""), run.task_key, str(run.id))
        number, shown, name = find_attempt_number(run), find_shown_number(run), run.name
        described = _describe_task_run(run)
        began = run.start_time or run.expected_start_time
    else:
        key = ("prefect", str(run.id))
        number = shown = max(run.run_count, 1)
        name = f"{getattr(owner, 'name', 'flow')}/{run.name}"
        described = describe_task(None, run, getattr(owner, "name", "flow"))
        began = run.created or run.expected_start_time  # the same for two engines of one run
    ended_at = state.timestamp.timestamp()
    started_at = min(began.timestamp() if began is not None else ended_at, ended_at)
    state_name, message = _state_name(state), str(state.message or "")
    summary = _summary(state)
    statement = f"Prefect says {state_name}" + (f": {_line(message)}" if message else "")
    return ExternalRun(
        key=key,
        number=number,
        shown_number=shown,
        task=described,
        name=name,
        state="success" if state.is_completed() else state_name.lower(),
        ending=_ending(Ending(started_at, ended_at), state, summary),
        log=_log(state),
        unread_log=None if state.is_completed() else _UNREAD,
        summary=summary,
        statement=statement,
    )


def _describe_task_run(run: TaskRun) -> EngineTask:
    """Return the names of a task run, with those of its flow where the hook runs within that."""
    _task, flow = current()
    if flow is None or flow.flow_run is None or flow.flow_run.id != run.flow_run_id:
        return describe_task(run, None, None)
    return describe_task(run, flow.flow_run, None if flow.flow is None else flow.flow.name)


def find_error(state: State[Any]) -> BaseException | None:
    """Return the exception of a failed state, if it is known without access to a storage."""
    data = state.data
    found = data if isinstance(data, BaseException) else getattr(data, "result", None)
    return found if isinstance(found, BaseException) else None


def _state_name(state: State[Any]) -> str:
    return str(state.name or state.type.value)


def _summary(state: State[Any]) -> str:
    """Return the reason of the end in one line; a task and the flow that it fails have the same."""
    error = find_error(state)
    return _line(str(state.message or "") if error is None else format_error(error))


def _ending(ending: Ending, state: State[Any], summary: str) -> Ending:
    if state.is_completed():
        ending.code = 0
        return ending
    message = str(state.message or "")
    ending.code = find_exit_code(f"{summary}\n{message[:_MOST_CHARACTERS]}")
    meant_as, reason = _stop_of(_state_name(state), message)
    if ending.code is None and reason:
        ending.signal = int(SIGTERM)
        ending.sender = {"meant_as": meant_as, "because": reason}
    return ending


def _stop_of(state_name: str, message: str) -> tuple[str, str]:
    """Return the kind of stop that ended the run, and its reason; empty texts for no stop."""
    if state_name == "TimedOut":
        return "timeout", "its timeout expired"
    if state_name in ("Cancelled", "Cancelling"):
        return "cancelled", "its flow run was cancelled"
    if "interrupt signal" in message:
        return "cancelled", "its flow was interrupted (SIGINT)"
    if "termination signal" in message:
        return "preempted", "its flow received SIGTERM"
    return "", ""


def _log(state: State[Any]) -> bytes:
    """Return the exception with its traceback, whose end is kept where it is long.

    Prefect's own words in the message of the state are left out.  The exception of a shell task
    only reports the exit status of its command; what follows is the end of the command's output.
    """
    error = find_error(state)
    if error is None:
        message = cut_words(str(state.message or ""), _MOST_CHARACTERS)
        start = next((start for start in _BEFORE_EXCEPTION if message.startswith(start)), None)
        text = "" if start is None else message.removeprefix(start)
    elif _is_of_shell(error):
        text = cut_to_last_lines(format_error(error).partition("\n")[2], _MOST_CHARACTERS)
    else:
        text = cut_to_last_lines(format_traceback(error, error.__traceback__), _MOST_CHARACTERS)
    text = text.strip("\n")
    return f"{text}\n".encode("utf-8", "backslashreplace") if text.strip() else b""


def _is_of_shell(error: BaseException) -> bool:
    """Return True for an exception by which prefect-shell reports an exit status."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    module = None if frame is None else frame.tb_frame.f_globals.get("__name__")
    is_shell = str(module).partition(".")[0] == "prefect_shell"
    return is_shell and find_exit_code(format_error(error).partition("\n")[0]) is not None


def _line(text: str) -> str:
    return cut_words(" ".join(cut_words(text, _MOST_LINE * 4).split()), _MOST_LINE)
