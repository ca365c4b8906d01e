"""The log of a task: the output of its program, apart from the lines of Airflow.

Airflow writes both into one file.  A line in JSON names the logger that wrote it: Airflow's own, a
hook that copies the output of a command, or the program's.  A line of text, as custom handlers and
Airflow 2 write it, names the source file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from signal import SIGSEGV
from typing import Any, Self

from airflow.providers.common.compat.sdk import AirflowConfigException, conf

from gpualert_common.record.log_end import read_end
from gpualert_common.regex import compile_text
from gpualert_common.structs import Struct

_MOST_BYTES = 1 << 20

_PROGRAMS = ("airflow.task", "airflow.providers", "airflow.utils.process_utils")
"""Loggers of Airflow that also copy the output of programs; all others are Airflow's own."""
_HOOK_FILES = ("subprocess.py", "process_utils.py", "python_virtualenv.py", "ssh.py")
_ENGINE_FILES = frozenset(
    {
        *("taskinstance.py", "task_runner.py", "standard_task_runner.py", "base_task_runner.py"),
        *("local_task_job.py", "local_task_job_runner.py", "job.py", "base_job.py", "timeout.py"),
        *("task_command.py", "dagbag.py", "manager.py", "supervisor.py", "templater.py"),
        *("notifier.py", "log_reader.py", "file_task_handler.py"),
    }
)

_TEXT_LINE = compile_text(r"^\[[^\]]+\] \{([\w.-]+):\d+\} [A-Z]+ - (.*)$")
_ABOUT_COMMAND = compile_text(
    r"^(?:Tmp dir root location: |Running command: |Executing cmd: |Output:$)"
)
_EXITED = compile_text(r"^Command exited with return code (-?\d{1,5})$")
_STOPPED = "Sending SIGTERM signal to process group"
_SEGFAULT = "Received SIGSEGV"


class TaskLog(Struct, frozen=True):
    """The output of a task's program, and its exit status as Airflow's lines name it.

    ``exit_code`` is -n for signal n, None where no line names one.  ``why_unread`` is the reason
    for which there is no log, "" where it was read.
    """

    output: bytes = b""
    exit_code: int | None = None
    why_unread: str = ""

    @classmethod
    def of(cls, ti: Any) -> Self:
        """Return the end of an attempt's log on this host, under Airflow's default name."""
        try:
            path = _path_of(ti)
        except (AttributeError, TypeError, ValueError, AirflowConfigException):
            return cls(why_unread="the name of its file is not known")
        try:
            with open(path, "rb") as file:
                end, start = read_end(file, _MOST_BYTES)
        except FileNotFoundError:
            return cls(why_unread=f"{path} is not on this host")
        except OSError as error:
            return cls(why_unread=f"{path}: {error.strerror or error}")
        lines = end.split(b"\n")
        return cls.parse(b"\n".join(lines[1 if start else 0 :]))

    @classmethod
    def parse(cls, log: bytes) -> Self:
        """Return the parts of a log's text."""
        reader = _Reader()
        text = "".join(f"{line}\n" for line in reader.program_lines(log))
        return cls(text.encode("utf-8", "backslashreplace"), reader.exit_code)


def _path_of(ti: Any) -> str:
    return os.path.join(
        conf.get("logging", "base_log_folder"),
        f"dag_id={ti.dag_id}",
        f"run_id={ti.run_id}",
        f"task_id={ti.task_id}",
        *([f"map_index={ti.map_index}"] if ti.map_index >= 0 else []),
        f"attempt={ti.try_number}.log",
    )


class _Reader:
    """Reader of a task log, which keeps track of the hooks whose command prints."""

    def __init__(self) -> None:
        self.exit_code: int | None = None
        self._printing: set[str] = set()
        """Hooks, by logger or source file, between the start and the end of their command."""
        self._is_skipped = False
        """True after a line of text that is not the program's; lines without a head follow it."""

    def program_lines(self, log: bytes) -> Iterator[str]:
        """Yield the lines of the program."""
        for line in log.split(b"\n"):
            event = _parse_event(line)
            if event is not None:
                yield from self._read_event(event)
            elif line:
                yield from self._read_text(line.decode("utf-8", "backslashreplace"))

    def _read_event(self, event: Mapping[str, Any]) -> Iterator[str]:
        text, logger = str(event["event"]), str(event.get("logger") or "")
        if _is_engine(logger):
            self._note_end(text, event)
        elif self._is_output(logger, text, is_hook=logger.startswith(_PROGRAMS)):
            yield text
            yield from _format_error(event.get("error_detail"))

    def _read_text(self, line: str) -> Iterator[str]:
        head = _TEXT_LINE.search(line)
        if head is not None:
            file, line = head[1], head[2]
            self._is_skipped = file in _ENGINE_FILES or not self._is_output(
                file, line, is_hook=file in _HOOK_FILES
            )
        if not self._is_skipped:
            yield line

    def _is_output(self, writer: str, text: str, *, is_hook: bool) -> bool:
        """Return True for a line of the program; a hook also writes lines about its command."""
        if text.startswith(("::group::", "::endgroup::")):
            return False
        exited = _EXITED.search(text) if is_hook else None
        if exited is not None:
            self._printing.discard(writer)
            self.exit_code = int(exited[1]) or None
            return False
        if not is_hook or (writer in self._printing and text != _STOPPED):
            return True
        if text == "Output:":
            self._printing.add(writer)
        return text != _STOPPED and _ABOUT_COMMAND.search(text) is None

    def _note_end(self, text: str, event: Mapping[str, Any]) -> None:
        """Keep the status of the task's own process, as Airflow's supervisor reports it."""
        status = event.get("signal", event.get("exit_code"))
        if isinstance(status, int) and status:
            self.exit_code = status
        elif _SEGFAULT in text:
            self.exit_code = -SIGSEGV


def _parse_event(line: bytes) -> Mapping[str, Any] | None:
    """Return the fields of a line in JSON; None for another line."""
    if not line.startswith(b"{"):
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if "event" in event else None


def _is_engine(logger: str) -> bool:
    """Return True for a logger of Airflow's own programs, and for ours."""
    if logger in ("task", "supervisor") or logger.startswith("gpualert_provider."):
        return True
    return logger.startswith("airflow.") and not logger.startswith(_PROGRAMS)


def _format_error(chain: Any) -> Iterator[str]:
    """Yield the traceback of an exception that the program logged, its cause first."""
    for error in reversed(chain) if isinstance(chain, list) else ():
        try:
            frames = [
                f'  File "{frame["filename"]}", line {frame["lineno"]}, in {frame["name"]}'
                for frame in error["frames"]
            ]
            last = f"{error['exc_type']}: {error['exc_value']}"
        except (KeyError, TypeError):
            return
        yield from ("Traceback (most recent call last):", *frames, last)
