"""Records of task runs and flow runs that no training of ours explains, after the fact."""

from __future__ import annotations

import contextlib
import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from signal import SIGTERM
from typing import Any

from prefect.client.schemas.objects import FlowRun, State, TaskRun

from gpualert_common import external_run
from gpualert_common.classifier import RunClassifier
from gpualert_common.model import Claim, SourceStatus, Verdict
from gpualert_common.processes.host import host_name
from gpualert_common.record import OUTCOME, Record
from gpualert_common.spec import SCHEMA, Ending
from prefect_gpualert.attempts import number_of

_STATUS = re.compile(r"\b(?:exit|return|status) (?:code|status):? (-?\d{1,3})\b")
"""As in ShellOperation's, shell_run_command's, a runner's and subprocess's own errors."""
_MOST_CHARACTERS = 64 << 10
_MOST_SAID = 500


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """What Prefect's objects say of a run that has come to an end."""

    key: tuple[str, ...]
    number: int
    name: str
    started_at: float
    ended_at: float
    state: str
    message: str
    error: BaseException | None
    completed: bool

    @property
    def said(self) -> str:
        """What ended it, in a line; equal for a task and the flow that it took with it."""
        if self.error is None:
            return _line(self.message)
        return _line(_text(self.error, with_frames=False))


def told(run: TaskRun | FlowRun, of: Any, state: State[Any]) -> FinishedRun:
    """What is known of a run; ``of`` is its task or flow."""
    key: tuple[str, ...]
    if isinstance(run, TaskRun):
        key = ("prefect", str(run.flow_run_id or ""), run.task_key, str(run.id))
        number, name = number_of(run), run.name
        began = run.start_time or run.expected_start_time
    else:
        key = ("prefect", str(run.id))
        number, name = max(run.run_count, 1), f"{getattr(of, 'name', 'flow')}/{run.name}"
        began = run.created or run.expected_start_time  # of two engines both know it
    ended_at = state.timestamp.timestamp()
    return FinishedRun(
        key,
        number,
        name,
        min(began.timestamp() if began is not None else ended_at, ended_at),
        ended_at,
        str(state.name or state.type.value),
        str(state.message or ""),
        error_of(state),
        state.is_completed(),
    )


def error_of(state: State[Any]) -> BaseException | None:
    """The exception of a failed state, where no storage needs to be asked for it."""
    data = state.data
    found = data if isinstance(data, BaseException) else getattr(data, "result", None)
    return found if isinstance(found, BaseException) else None


def record_of(
    told: FinishedRun, alerts: Mapping[str, Any] | None, state_dir: str | None, note: str = ""
) -> Record:
    """The record of it, the same one whoever asks, and however often.

    ``alerts`` are its channels; ``note`` stands at the end of its log.  Raises NoDurableLogError.
    """
    run_id = external_run.run_id_of(told.key, told.number, told.started_at)
    ending = _ending(told)
    log = _log(told, note)
    custody = {"key": told.key, "number": told.number, "is_last": True}
    record = external_run.record_run(
        ending,
        run_id=run_id,
        state_dir=state_dir,
        log=log,
        verdict=None if ending.code is not None else _verdict(told, ending, log, run_id),
        name=told.name,
        cwd=None,
        custody=custody,
        alerts=alerts,
        said=told.said,
    )
    state = "success" if told.completed else told.state.lower()
    if record.read_json(OUTCOME) is None:
        outcome = {"state": state, "final": True, "number": told.number, "at": told.ended_at}
        with contextlib.suppress(OSError):  # the alert goes out all the same
            record.write_json(OUTCOME, {"schema": SCHEMA, **outcome})
    return record


def _ending(told: FinishedRun) -> Ending:
    ending = Ending(told.started_at, told.ended_at)
    if told.completed:
        ending.code = 0
        return ending
    found = _STATUS.search(f"{told.said}\n{told.message[:_MOST_CHARACTERS]}")
    if found is not None and int(found[1]):
        ending.code = int(found[1])
        return ending
    meant_as, because = _meaning(told)
    if because:
        ending.signal = int(SIGTERM)
        ending.sender = {"meant_as": meant_as, "because": because}
    return ending


def _meaning(told: FinishedRun) -> tuple[str, str]:
    """Which stop it was, if it was one, and why."""
    if told.state == "TimedOut":
        return "timeout", "its time was over"
    if told.state in ("Cancelled", "Cancelling"):
        return "cancelled", "its flow run was cancelled"
    if "interrupt signal" in told.message:
        return "cancelled", "its flow was interrupted (SIGINT)"
    if "termination signal" in told.message:
        return "preempted", "its flow was told to end (SIGTERM)"
    return "", ""


def _verdict(told: FinishedRun, ending: Ending, log: bytes, run_id: str) -> Verdict:
    """The verdict on something that is no process: an exception stands for a bad exit status."""
    judge = RunClassifier(
        {
            "run_id": run_id,
            "host": host_name(),
            "custody": {"number": told.number},
            "rules": external_run.own_rules(),
        }
    )
    judge.feed(external_run.LOG, log, 0)
    as_process = Ending.from_json({**ending.to_json(), "code": 1})
    verdict = judge.conclude(as_process, {})
    claim = f"Prefect says {told.state}" + (f": {_line(told.message)}" if told.message else "")
    no_status = SourceStatus("exit_status", available=False, why="it was no process of its own")
    sources = [source for source in verdict.sources if source.name != no_status.name]
    is_unexplained = ending.signal is None and len(verdict.shows) == 1
    return replace(
        verdict,
        exit_code=None,
        headline=(told.said or claim) if is_unexplained else verdict.headline,
        shows=(Claim(claim, "engine"), *verdict.shows[1:]),
        details={name: one for name, one in verdict.details.items() if name != "signal_name"},
        sources=(*sources, no_status),
    )


def _log(told: FinishedRun, note: str) -> bytes:
    """The state's message and the exception with its traceback, the end where it is long."""
    lines = [told.message[:_MOST_SAID]]
    if told.error is not None:
        lines.append(_text(told.error)[-_MOST_CHARACTERS:])
    lines.append(note)
    return "".join(f"{line.rstrip()}\n" for line in lines if line.strip()).encode(
        "utf-8", "backslashreplace"
    )


def _text(error: BaseException, *, with_frames: bool = True) -> str:
    """An exception as the interpreter shows it; of a message without measure only the beginning."""
    with contextlib.suppress(Exception):  # it may refuse to be read
        said = str(error)
        if len(said) > _MOST_CHARACTERS:
            frames = traceback.format_tb(error.__traceback__) if with_frames else []
            return "".join([*frames, f"{type(error).__name__}: {said[: _MOST_CHARACTERS // 2]}"])
    if with_frames:
        return "".join(traceback.format_exception(error))
    return "".join(traceback.format_exception_only(error))


def _line(text: str) -> str:
    return " ".join(text[: _MOST_SAID * 4].split())[:_MOST_SAID]
