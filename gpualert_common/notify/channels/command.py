"""A program of yours, which gets each alert as a mail (RFC 5322) on its standard input.

It runs without a shell, in its own session, with the environment of the sender and these variables:
`GPUALERT_SUBJECT`, `GPUALERT_MESSAGE_ID`, and `GPUALERT_THREAD_ID`, which is the same for all
attempts at one task. Exit status 0 means delivered, 75 (`EX_TEMPFAIL`) means that it is to be
called again later, and any other status is a permanent failure; its last output is kept as the
reason.  A program that takes too long is killed with all processes that it started, and called
again later.  Its command line is stored in the record, so it must not hold a secret: the program
reads it itself.
"""

from __future__ import annotations

from gpualert_common.errors import DeliveryError
from gpualert_common.notify.channels import _settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, ClassVar

    from gpualert_common.notify.channels._interface import Channel as _Channel
    from gpualert_common.notify.channels._interface import DeliveredParts
    from gpualert_common.notify.message import Budget, Message

_MAIL_BYTES = 1_000_000
_TEXT_BYTES = 64 << 10
_HTML_BYTES = 90_000
_OUTPUT_BYTES = 2048
_POLL_S = 0.05
_EX_TEMPFAIL = 75
_COMMON_FAULTS = {126: "it cannot be executed", 127: "a command was not found"}


def _words(value: Any) -> list[str]:
    """Return the program and its arguments, from a list or from text quoted as for a shell.

    A relative path becomes absolute: the sender has another working directory.
    """
    import os
    import shlex

    words = shlex.split(value) if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not words:
        raise ValueError("a program and its arguments are needed")
    if not all(isinstance(word, str) and "\0" not in word for word in words) or not words[0]:
        raise ValueError("every word of a command is text")
    program = os.path.expanduser(words[0])
    return [os.path.abspath(program) if os.sep in program else program, *words[1:]]


class CommandChannel:
    """An external command."""

    KEYS: ClassVar[Mapping[str, tuple[Callable[[Any], Any], str]]] = {
        "command": (_words, "the program and its arguments, as a list or quoted as for a shell"),
        "size_bytes": (_settings.size, "largest mail for the program; 1MB by default"),
        "report": (_settings.report, "attach the report as HTML: attach (default) or none"),
    }
    REQUIRED: ClassVar[tuple[str, ...]] = ("command",)
    SECRET: ClassVar[tuple[str, ...]] = ()

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._command: list[str] = settings["command"]
        self._limit: int = settings.get("size_bytes", _MAIL_BYTES)
        self._settings = settings

    @staticmethod
    def find_obstacle(settings: Mapping[str, Any]) -> str:
        """Return the problem if the program does not exist, or cannot be executed."""
        import os

        program: str = settings["command"][0]
        if os.sep in program:
            if not os.path.isfile(program):
                return f"command: there is no program {program}"
            return "" if os.access(program, os.X_OK) else f"command: {program} is not executable"
        paths = (os.path.join(folder, program) for folder in os.get_exec_path())
        if any(os.path.isfile(path) and os.access(path, os.X_OK) for path in paths):
            return ""
        return f"command: there is no program {program} in PATH"

    @property
    def address(self) -> str:
        """The command line."""
        import shlex

        return f"command:{shlex.join(self._command)}"

    @property
    def budget(self) -> Budget:
        """The budget of a mail of the given size."""
        from gpualert_common.notify.message import Budget
        from gpualert_common.notify.mime import fit_budget

        report = _settings.choose_report(self._settings, "page")
        budget = Budget(_TEXT_BYTES, _HTML_BYTES, self._limit, self._limit, 50, report=report)
        return fit_budget(budget, self._limit)

    def send(
        self, compose: Callable[[Budget], Message], progress: DeliveredParts, timeout_s: float
    ) -> str:
        """Run the program once; it has ``timeout_s``."""
        from gpualert_common.notify.mime import as_mail, fit_message, local_address

        program = self._command[0]
        if progress.has("mail"):
            return f"{program} has accepted it already"
        who = local_address()

        def make(message: Message) -> bytes:
            return as_mail(message, who, [who], eol="\n")

        message, mail = fit_message(compose, self.budget, self._limit, make)
        status, output = _run(self._command, mail, _environment(message), timeout_s)
        if status != 0:
            raise _failure(program, status, output, timeout_s)
        progress.mark("mail")
        return f"{program} took {len(mail)} bytes and exited with 0"


def _environment(message: Message) -> dict[str, str]:
    import os

    from gpualert_common.notify.mime import one_line

    return {
        **os.environ,
        "GPUALERT_SUBJECT": one_line(message.subject),
        "GPUALERT_MESSAGE_ID": one_line(message.id),
        "GPUALERT_THREAD_ID": one_line(message.thread or message.id),
    }


def _run(
    command: Sequence[str], mail: bytes, environment: Mapping[str, str], timeout_s: float
) -> tuple[int | None, str]:
    """Run it; returns its exit status (None: it was killed at its time) and its last output.

    Raises DeliveryError where it cannot be started.
    """
    import os
    import subprocess

    from gpualert_common.notify.isolation import lift_limits

    lift_limits()  # the variables of this process are not for it
    # A file in memory rather than a pipe: a program that does not read it blocks nothing.
    stdin = os.memfd_create("message")
    try:
        with open(stdin, "wb", closefd=False) as file:
            file.write(mail)
        os.lseek(stdin, 0, os.SEEK_SET)
        running = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        lasting = isinstance(error, FileNotFoundError | PermissionError | NotADirectoryError)
        raise DeliveryError(
            f"{command[0]} could not be started: {error.strerror or error}",
            transient=not lasting,
        ) from None
    finally:
        os.close(stdin)
    try:
        output = _last_output(running, timeout_s)
    finally:
        status = _end(running)
    return status, output


def _last_output(running: subprocess.Popen[bytes], timeout_s: float) -> str:
    """Return its last output, read until it ends or its time is over.

    A background process that it left may hold the pipe open forever; that is not waited for.
    """
    import os
    import select
    import time

    assert running.stdout is not None
    pipe = running.stdout.fileno()
    deadline = time.monotonic() + timeout_s
    kept = b""
    piped = True
    while time.monotonic() < deadline:
        ended = running.poll() is not None
        if piped and select.select([pipe], [], [], 0 if ended else _POLL_S)[0]:
            chunk = os.read(pipe, 1 << 16)
            piped = bool(chunk)
            kept = (kept + chunk)[-_OUTPUT_BYTES:]
        elif ended:
            break
        elif not piped:
            time.sleep(_POLL_S)
    return kept.decode("utf-8", "replace")


def _end(running: subprocess.Popen[bytes]) -> int | None:
    """Return its exit status; None if it was killed, with all of its process group."""
    import os
    import signal

    assert running.stdout is not None
    running.stdout.close()
    status = running.poll()
    if status is None:
        os.killpg(running.pid, signal.SIGKILL)  # not reaped yet, so the number is its own
        running.wait()
    return status


def _failure(program: str, status: int | None, output: str, timeout_s: float) -> DeliveryError:
    from gpualert_common.notify.mime import one_line

    reason = f": {one_line(output)}" if output.strip() else ""
    if status is None:
        why = f"{program} was killed after {timeout_s:g} s{reason}"
        return DeliveryError(why, transient=True)
    if status < 0:
        return DeliveryError(f"{program} was killed by signal {-status}{reason}", transient=True)
    known = f" ({_COMMON_FAULTS[status]})" if status in _COMMON_FAULTS else ""
    return DeliveryError(
        f"{program} exited with {status}{known}{reason}", transient=status == _EX_TEMPFAIL
    )


Channel: type[_Channel] = CommandChannel
