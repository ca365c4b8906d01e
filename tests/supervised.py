"""Real supervised runs for tests: each has a separate directory, and nothing outlives it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gpualert_common.record import Record

PYTHON = sys.executable
PROGRAM = (PYTHON, "-m", "gpualert_common")
DEADLINE_S = 30.0
"""Far above the time of any step on a loaded machine; a test that reaches it has failed."""

Found = TypeVar("Found")


def until(
    probe: Callable[[], Found | None],
    what: str,
    deadline_s: float = DEADLINE_S,
    poll_s: float = 0.01,
) -> Found:
    """Return the first true value of ``probe``; fail with the name ``what`` if none comes."""
    deadline = time.monotonic() + deadline_s
    while not (found := probe()):
        assert time.monotonic() < deadline, f"waited {deadline_s:g} s in vain: {what}"
        time.sleep(poll_s)
    return found


def free_port() -> int:
    """Return a port of 127.0.0.1 without a listener at the moment."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def python(code: str) -> tuple[str, str, str]:
    """Return the command that runs this Python code."""
    return PYTHON, "-c", code


def shell(code: str) -> tuple[str, str, str]:
    """Return the command that runs this shell code."""
    return "sh", "-c", code


def breaking(code: str) -> tuple[str, str, str]:
    """Return the command of gpualert, in an interpreter that runs ``code`` first to break it."""
    return python(
        f"{code}\nimport sys\nfrom gpualert_common.cli.main import main\nsys.exit(main())"
    )


LISTENER = """
import os, signal, sys, time
names = sys.argv[1].split(",")
ignored = sys.argv[2].split(",") if sys.argv[2] else []
def report(number, frame):  # print() must not be entered again by the next signal
    os.write(1, f"received {signal.Signals(number).name}\\n".encode())
    if number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        sys.exit(0)
for name in names:
    signal.signal(getattr(signal, name), report)
for name in ignored:
    signal.signal(getattr(signal, name), signal.SIG_IGN)
print("ready", flush=True)
while True:
    time.sleep(0.02)
"""
ALL_SIGNALS = "SIGTERM,SIGINT,SIGHUP,SIGUSR1,SIGUSR2,SIGQUIT"


def listener(handles: str = ALL_SIGNALS, ignores: str = "") -> tuple[str, ...]:
    """Return a command that prints the signals it receives, and exits on TERM, INT and HUP."""
    return (*python(LISTENER), handles, ignores)


def status_of(pid: int) -> list[str]:
    """Return the fields of /proc/<pid>/stat after the command: state, parent, group, session,
    ..."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def is_alive(pid: int) -> bool:
    """True while the process runs; false for a zombie."""
    fields = status_of(pid)
    return bool(fields) and fields[0] not in "ZX"


def processes() -> dict[int, list[str]]:
    """Return every live process of this machine, with its fields as of :func:`status_of`."""
    found = {int(name): status_of(int(name)) for name in os.listdir("/proc") if name.isdigit()}
    return {pid: fields for pid, fields in found.items() if fields and fields[0] not in "ZX"}


def in_group_or_session(leader: int) -> list[int]:
    """Return the live processes in the leader's process group or session."""
    return [pid for pid, fields in processes().items() if str(leader) in fields[2:4]]


def peak_rss_mb(pid: int) -> float:
    """Return the peak resident memory of the process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"process {pid} has no memory")


class Lab:
    """A directory, a state directory and the processes of one test.

    Every process started here carries ``mark`` in its environment (or, where it cleans that, in
    its arguments), by which :meth:`living` counts what is left.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.state = home / "state"
        self.mark = f"LAB_{uuid.uuid4().hex}"
        self._started: list[subprocess.Popen[bytes]] = []

    def environment(self) -> dict[str, str]:
        """The variables that isolate a test, whatever the caller has set."""
        return {
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            "XDG_STATE_HOME": str(self.home / "xdg-state"),
            "XDG_CONFIG_HOME": str(self.home / "xdg-config"),
            "GPUALERT_STATE_DIR": str(self.state),
            "GPUALERT_NOTIFY": "none",  # tests of alerts name their channels
            "GPUALERT_OBSERVE": "false",  # tests of telemetry turn it on
            self.mark: "1",
        }

    # -- running things --------------------------------------------------------------------

    def start(self, command: tuple[str, ...], **options: Any) -> subprocess.Popen[bytes]:
        """Start any command here; it is killed with the test."""
        options.setdefault("cwd", self.home)
        options.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen(command, **options)
        self._started.append(process)
        return process

    def call(
        self, command: tuple[str, ...], *, timeout: float = 2 * DEADLINE_S, **options: Any
    ) -> subprocess.CompletedProcess[bytes]:
        """Run any command here to its end and capture its output."""
        given = options.pop("input", None)
        if given is not None:
            options["stdin"] = subprocess.PIPE
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        process = self.start(command, **options)
        out, err = process.communicate(given, timeout=timeout)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def gpualert(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        """Run the program to its end."""
        return self.call((*PROGRAM, *arguments), **options)

    def run(self, *command: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        """Run a command under ``gpualert run`` to its end."""
        return self.gpualert("run", "--", *command, **options)

    def launch(self, *command: str, options: tuple[str, ...] = (), **popen: Any) -> Supervised:
        """Start a command under ``gpualert run`` and return when its leader is known."""
        before = set(self.records())
        popen.setdefault("stdout", subprocess.DEVNULL)
        popen.setdefault("stderr", subprocess.DEVNULL)
        process = self.start((*PROGRAM, "run", *options, "--", *command), **popen)

        def launched() -> Record | None:
            for path in set(self.records()) - before:
                record = Record.open(str(path))
                if record.event("launched") is not None:
                    return record
                record.close()
            assert process.poll() is None, f"ended with {process.returncode} before it began"
            return None

        return Supervised(process, until(launched, "the run to be launched"))

    def json(self, *arguments: str) -> Any:
        """Return the output of a command with ``--json``."""
        done = self.gpualert(*arguments, "--json")
        return json.loads(done.stdout)

    def script(self, name: str, text: str, mode: int = 0o755) -> str:
        """Write a new file with this content; return its path."""
        path = self.home / name
        path.write_text(text)
        path.chmod(mode)
        return str(path)

    # -- records and processes -------------------------------------------------------------

    def records(self) -> list[Path]:
        """Return the directories of the records in the state directory, oldest first."""
        try:
            return sorted((self.state / "runs").iterdir())
        except FileNotFoundError:
            return []

    def record(self) -> Record:
        """Return the only record."""
        (path,) = self.records()
        return Record.open(str(path))

    def log(self, name: str = "stdout.log") -> bytes:
        """Return the content of a log of the only record."""
        (path,) = self.records()
        return (path / name).read_bytes()

    def has_output(self, text: bytes, name: str = "output.log") -> bool:
        """True once the log of a record contains this text; record and log may be missing."""
        return any(text in log.read_bytes() for log in self.state.glob(f"runs/*/{name}"))

    def living(self) -> dict[int, str]:
        """Return the live processes of this test, with their command lines."""
        mark = self.mark.encode()
        found = {}
        for pid in processes():
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                if mark in command or mark in Path(f"/proc/{pid}/environ").read_bytes():
                    found[pid] = command.replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
        return found

    def is_empty(self) -> bool:
        """True when no process of this test lives."""
        return not self.living() and not self.living()  # one may fork during a look, and exit

    def end_everything(self) -> None:
        """Kill the processes of this test that still live."""

        def none_left() -> bool:
            for pid in self.living():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            return self.is_empty()

        until(none_left, "the processes of the test to be gone")
        for process in self._started:
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()


class Supervised:
    """A live ``gpualert run`` and its record."""

    def __init__(self, process: subprocess.Popen[bytes], record: Record) -> None:
        self.process = process
        self.record = record
        pid = record.leader_pid
        assert pid is not None
        self.leader = pid

    def log(self) -> bytes:
        """Return the child's output in its (first) log so far."""
        return Path(self.record.log_path(self.record.logs[0])).read_bytes()

    def wait_for_output(self, text: bytes) -> None:
        """Return when the child has written this text."""
        until(lambda: text in self.log(), f"{text!r} in the output of the child")

    def wait_for_event(self, name: str) -> dict[str, Any]:
        """Wait for an event of the record, and return its fields."""
        return until(lambda: self.record.event(name), f"the event {name}").fields

    def signal(self, number: int) -> None:
        """Send a signal to the supervisor only."""
        self.process.send_signal(number)

    def wait(self) -> int:
        """Wait for the supervisor and return its exit status."""
        return self.process.wait(2 * DEADLINE_S)


def exit_of(record: Record) -> Mapping[str, Any]:
    """Return the content of exit.json."""
    found = record.read_json("exit.json")
    assert found is not None, f"{record.path} has no exit.json"
    return found


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """A place for runs, used by the program and by ``run()`` in this process."""
    for name in list(os.environ):
        if name.startswith(("GPUALERT_", "PYTHONUNBUFFERED", "PYTHONFAULTHANDLER")):
            monkeypatch.delenv(name)
    place = Lab(tmp_path)
    (tmp_path / "tmp").mkdir()
    for name, value in place.environment().items():
        monkeypatch.setenv(name, value)
    yield place
    place.end_everything()
