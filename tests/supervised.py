"""Real supervised runs for tests: each has a place of its own and nothing outlives it."""

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
"""Far above what anything here takes on a loaded machine; a test that gets there has failed."""

Found = TypeVar("Found")


def until(
    look: Callable[[], Found | None],
    what: str,
    deadline_s: float = DEADLINE_S,
    poll_s: float = 0.01,
) -> Found:
    """Return the first true value that ``look`` gives; fail naming ``what`` when none comes."""
    deadline = time.monotonic() + deadline_s
    while not (found := look()):
        assert time.monotonic() < deadline, f"waited {deadline_s:g} s in vain: {what}"
        time.sleep(poll_s)
    return found


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on at the moment."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def python(code: str) -> tuple[str, str, str]:
    """The command that runs this Python code."""
    return PYTHON, "-c", code


def shell(code: str) -> tuple[str, str, str]:
    """The command that runs this shell code."""
    return "sh", "-c", code


def breaking(code: str) -> tuple[str, str, str]:
    """The program gpualert, in an interpreter that has run ``code`` first to break it."""
    return python(
        f"{code}\nimport sys\nfrom gpualert_common.cli.main import main\nsys.exit(main())"
    )


LISTENER = """
import os, signal, sys, time
names = sys.argv[1].split(",")
ignored = sys.argv[2].split(",") if sys.argv[2] else []
def heard(number, frame):  # print() must not be entered again by the next signal
    os.write(1, f"heard {signal.Signals(number).name}\\n".encode())
    if number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        sys.exit(0)
for name in names:
    signal.signal(getattr(signal, name), heard)
for name in ignored:
    signal.signal(getattr(signal, name), signal.SIG_IGN)
print("ready", flush=True)
while True:
    time.sleep(0.02)
"""
ALL_SIGNALS = "SIGTERM,SIGINT,SIGHUP,SIGUSR1,SIGUSR2,SIGQUIT"


def listener(hears: str = ALL_SIGNALS, ignores: str = "") -> tuple[str, ...]:
    """A child that says which signals reach it, and ends on the first that asks for it."""
    return (*python(LISTENER), hears, ignores)


def status_of(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat after the command: state, parent, group, session, ..."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def is_alive(pid: int) -> bool:
    """True while the process runs; a zombie does not."""
    fields = status_of(pid)
    return bool(fields) and fields[0] not in "ZX"


def processes() -> dict[int, list[str]]:
    """Every live process of this machine, with its fields as of :func:`status_of`."""
    found = {int(name): status_of(int(name)) for name in os.listdir("/proc") if name.isdigit()}
    return {pid: fields for pid, fields in found.items() if fields and fields[0] not in "ZX"}


def in_group_or_session(leader: int) -> list[int]:
    """Live processes in the leader's process group or session."""
    return [pid for pid, fields in processes().items() if str(leader) in fields[2:4]]


def peak_rss_mb(pid: int) -> float:
    """The most memory the process has had resident so far."""
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
        """The variables that keep a test in its place, whatever the caller has set."""
        return {
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            "XDG_STATE_HOME": str(self.home / "xdg-state"),
            "XDG_CONFIG_HOME": str(self.home / "xdg-config"),
            "GPUALERT_STATE_DIR": str(self.state),
            "GPUALERT_NOTIFY": "none",  # tests of alerts name their channels
            "GPUALERT_OBSERVE": "false",  # tests of that turn it on
            self.mark: "1",
        }

    # -- running things --------------------------------------------------------------------

    def start(self, command: tuple[str, ...], **options: Any) -> subprocess.Popen[bytes]:
        """Start any command here, to be ended with the test."""
        options.setdefault("cwd", self.home)
        options.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen(command, **options)
        self._started.append(process)
        return process

    def call(
        self, command: tuple[str, ...], *, timeout: float = 2 * DEADLINE_S, **options: Any
    ) -> subprocess.CompletedProcess[bytes]:
        """Run any command here to its end and capture what it prints."""
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
        """What a reading command says with ``--json``."""
        done = self.gpualert(*arguments, "--json")
        return json.loads(done.stdout)

    def script(self, name: str, text: str, mode: int = 0o755) -> str:
        """Path of a new file with this content."""
        path = self.home / name
        path.write_text(text)
        path.chmod(mode)
        return str(path)

    # -- what is there ---------------------------------------------------------------------

    def records(self) -> list[Path]:
        """Directories of the records in the state directory, oldest first."""
        try:
            return sorted((self.state / "runs").iterdir())
        except FileNotFoundError:
            return []

    def record(self) -> Record:
        """The only record there is."""
        (path,) = self.records()
        return Record.open(str(path))

    def log(self, name: str = "stdout.log") -> bytes:
        """Content of a log of the only record."""
        (path,) = self.records()
        return (path / name).read_bytes()

    def said(self, text: bytes, name: str = "output.log") -> bool:
        """True once the log of a record holds this; there may be no record yet, or no log in it."""
        return any(text in log.read_bytes() for log in self.state.glob(f"runs/*/{name}"))

    def living(self) -> dict[int, str]:
        """Live processes of this test, with their command lines."""
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
        return not self.living()

    def end_everything(self) -> None:
        """Kill what this test started and is still there."""

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
        launched = record.event("launched")
        assert launched is not None
        self.leader: int = launched["pid"]

    def log(self) -> bytes:
        """What the child has written to its (first) log so far."""
        return Path(self.record.log_path(self.record.logs[0])).read_bytes()

    def says(self, text: bytes) -> None:
        """Return when the child has written this."""
        until(lambda: text in self.log(), f"the child to say {text!r}")

    def told(self, event: str) -> dict[str, Any]:
        """Return an event of the record, waiting for it."""
        return until(lambda: self.record.event(event), f"the event {event}") or {}

    def signal(self, number: int) -> None:
        """Send a signal to the supervisor, and to nobody else."""
        self.process.send_signal(number)

    def wait(self) -> int:
        """The exit status of the supervisor, within the deadline."""
        return self.process.wait(2 * DEADLINE_S)


def exit_of(record: Record) -> Mapping[str, Any]:
    """The content of exit.json."""
    found = record.read_json("exit.json")
    assert found is not None, f"{record.path} has no exit.json"
    return found


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """A place for runs, in force for the program and for ``run()`` in this process alike."""
    for name in list(os.environ):
        if name.startswith(("GPUALERT_", "PYTHONUNBUFFERED", "PYTHONFAULTHANDLER")):
            monkeypatch.delenv(name)
    place = Lab(tmp_path)
    (tmp_path / "tmp").mkdir()
    for name, value in place.environment().items():
        monkeypatch.setenv(name, value)
    yield place
    place.end_everything()
