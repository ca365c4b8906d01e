"""Runner of one program: keeps its output, without the names of this machine."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from corpus.produce.cases import Case

ENVIRONMENTS = Path(__file__).resolve().parents[2] / ".venv-corpus"
_HOME = "/home/user"
_PROJECT = f"{_HOME}/project"
_LOG_LIMIT = 512 << 10
_TICK_S = 0.05


class RequirementError(Exception):
    """The machine lacks something that the program needs."""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The exit code of a program (-n for signal n), its output without this machine's names."""

    exit_code: int
    log: bytes
    duration_s: float
    timed_out: bool


def run_case(case: Case, scratch: Path) -> ProgramResult:
    """Run the program of *case* in *scratch*, which must be empty.

    Kills the whole process group at the time limit.  Raises :class:`RequirementError`, ValueError
    for a log that is too large.
    """
    bin_directory = _require(case)
    home, project = scratch / "home", scratch / "project"
    home.mkdir()
    project.mkdir()
    shutil.copyfile(case.file, project / case.run_as)
    environment = {
        "PATH": f"{bin_directory}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": str(home),
        "TMPDIR": str(scratch),
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        **case.env,
    }
    log = scratch / "output.log"
    started = time.monotonic()
    with log.open("ab") as out:
        child = subprocess.Popen(
            shlex.split(case.command.format(program=case.run_as)),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=project,
            env=environment,
            start_new_session=True,
        )
    timed_out = not _wait(child, case, log, started + case.timeout_s)
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    code = child.wait()
    duration_s = time.monotonic() - started
    text = _remove_local_names(log.read_bytes(), scratch, bin_directory.parent)
    if len(text) > _LOG_LIMIT:
        raise ValueError(f"{case.origin}/{case.name}: the log has {len(text)} bytes")
    return ProgramResult(code, text, duration_s, timed_out)


def list_versions(case: Case) -> dict[str, str]:
    """Return the versions of Python and of the distributions that the program imports."""
    text = case.file.read_text(encoding="utf-8")
    site = sorted((ENVIRONMENTS / case.environment / "lib").glob("python3*/site-packages"))
    found = {"python": sys.version.split()[0]}
    for one in importlib.metadata.distributions(path=[str(path) for path in site]):
        name = one.metadata["Name"]
        if re.search(rf"\bimport {_imported(name)}\b|\bfrom {_imported(name)}\b", text):
            found[name] = one.version
    return found


def _imported(distribution: str) -> str:
    """Return the likely import name of a distribution."""
    known = {"tensorflow_cpu": "tensorflow", "scikit_learn": "sklearn", "hydra_core": "hydra"}
    name = distribution.replace("-", "_")
    return re.escape(known.get(name, name))


def _require(case: Case) -> Path:
    """Return the directory of the program's interpreter.  Raises :class:`RequirementError`."""
    directory = ENVIRONMENTS / case.environment / "bin"
    if not (directory / "python").exists():
        raise RequirementError(f"no environment {case.environment!r}: run `make corpus`")
    for need in case.needs:
        if need == "root":
            if os.geteuid() != 0:
                raise RequirementError("needs root")
        elif subprocess.run(["dpkg", "-s", need], capture_output=True, check=False).returncode:
            raise RequirementError(f"needs the Debian package {need}")
    return directory


def _wait(child: subprocess.Popen[bytes], case: Case, log: Path, deadline: float) -> bool:
    """Wait for the exit, and send the signal of *case*.  Returns False at the time limit."""
    wanted = case.stop.get("when", "").encode()
    pending = bool(case.stop)
    while child.poll() is None:
        if time.monotonic() > deadline:
            return False
        if pending and wanted in log.read_bytes():
            number = signal.Signals[f"SIG{case.stop['signal']}"]
            if case.stop.get("pid") == "group":
                os.killpg(child.pid, number)
            else:
                child.send_signal(number)
            pending = False
        time.sleep(_TICK_S)
    return True


def _remove_local_names(text: bytes, scratch: Path, environment: Path) -> bytes:
    """Return *text* with the paths and names of this machine replaced by common ones.

    Some libraries write a path without its first slash, or with _ for each slash.
    """
    base = os.path.dirname(os.path.dirname(os.path.realpath(environment / "bin" / "python")))
    names = [
        (f"{scratch}/project", _PROJECT),
        (f"{scratch}/home", _HOME),
        (str(scratch), "/tmp/job"),
        (str(environment), "/opt/venv"),
        (os.path.realpath(environment), "/opt/venv"),
        (base, "/usr/local"),
        (socket.getfqdn(), "node01"),
        (socket.gethostname(), "node01"),
    ]
    for old, new in names:
        if old.startswith("/"):
            text = text.replace(old.encode(), new.encode())
            text = text.replace(old[1:].encode(), new[1:].encode())
            text = text.replace(old.replace("/", "_").encode(), new.replace("/", "_").encode())
        elif len(old) > 3 and old != "localhost":
            text = text.replace(old.encode(), new.encode())
        elif old != "localhost":
            text = re.sub(rb"(?<![\w.-])%s(?![\w-])" % re.escape(old.encode()), new.encode(), text)
    return text
