"""Running one program and keeping what it wrote, with the names of this machine taken out."""

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


class NotHereError(Exception):
    """The machine lacks what the program needs."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended (-n for signal n) and what it wrote, cleaned of this machine's names."""

    exit_code: int
    log: bytes
    duration_s: float
    timed_out: bool


def run_case(case: Case, scratch: Path) -> Ran:
    """Run the program of *case* in *scratch*, which must be empty.

    Raises :class:`NotHereError`.  Ends the whole process group when time is over.
    """
    bin_directory = _requirements(case)
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
    timed_out = not _ended(child, case, log, started + case.timeout_s)
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    code = child.wait()
    duration_s = time.monotonic() - started
    text = _cleaned(log.read_bytes(), scratch, bin_directory.parent)
    if len(text) > _LOG_LIMIT:
        raise ValueError(f"{case.origin}/{case.name}: the log has {len(text)} bytes")
    return Ran(code, text, duration_s, timed_out)


def versions_of(case: Case) -> dict[str, str]:
    """Versions of Python and of the distributions whose names the program mentions."""
    text = case.file.read_text(encoding="utf-8")
    site = sorted((ENVIRONMENTS / case.environment / "lib").glob("python3*/site-packages"))
    found = {"python": sys.version.split()[0]}
    for one in importlib.metadata.distributions(path=[str(path) for path in site]):
        name = one.metadata["Name"]
        if re.search(rf"\bimport {_imported(name)}\b|\bfrom {_imported(name)}\b", text):
            found[name] = one.version
    return found


def _imported(distribution: str) -> str:
    """The name under which a distribution is imported, as far as the name tells."""
    known = {"tensorflow_cpu": "tensorflow", "scikit_learn": "sklearn", "hydra_core": "hydra"}
    name = distribution.replace("-", "_")
    return re.escape(known.get(name, name))


def _requirements(case: Case) -> Path:
    directory = ENVIRONMENTS / case.environment / "bin"
    if not (directory / "python").exists():
        raise NotHereError(f"no environment {case.environment!r}: run `make corpus`")
    for need in case.needs:
        if need == "root":
            if os.geteuid() != 0:
                raise NotHereError("needs root")
        elif subprocess.run(["dpkg", "-s", need], capture_output=True, check=False).returncode:
            raise NotHereError(f"needs the Debian package {need}")
    return directory


def _ended(child: subprocess.Popen[bytes], case: Case, log: Path, deadline: float) -> bool:
    """Wait for the end, sending the signal that *case* asks for; False when time is over."""
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


def _cleaned(text: bytes, scratch: Path, environment: Path) -> bytes:
    """*text* with the places and names of this machine replaced by plain ones.

    Some libraries leave out the first slash of a path, or write _ for each.
    """
    base = os.path.dirname(os.path.dirname(os.path.realpath(environment / "bin" / "python")))
    names = [
        (f"{scratch}/project", _PROJECT),
        (f"{scratch}/home", _HOME),
        (str(scratch), "/tmp/job"),
        (str(environment), "/opt/venv"),
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
