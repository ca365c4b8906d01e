"""Environment of the benchmarks: both tools as users install them, scratch space, and callers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HOME = ROOT / ".bench"
PEER = "gpualert==0.1.6"
"""The paper's tool, as released."""


@dataclass(frozen=True, slots=True)
class Install:
    """A tool in a separate environment."""

    folder: Path

    @property
    def python(self) -> str:
        """Path of its interpreter."""
        return str(self.folder / "bin" / "python")

    @property
    def program(self) -> str:
        """Path of its command ``gpualert``."""
        return str(self.folder / "bin" / "gpualert")


def install_ours() -> Install:
    """This tree as a compiled wheel in .bench/ours, built again each time."""
    install = _environment("ours")
    # Always built from the current tree, since the version number does not change with it.
    _install(install, "--reinstall-package", "gpualert-common", f"{ROOT}[charts,exporter,stacks]")
    return install


def install_peer() -> Install:
    """The paper's tool in .bench/peer, from the package registry."""
    install = _environment("peer")
    _install(install, PEER)
    return install


def _environment(name: str) -> Install:
    install = Install(HOME / name)
    if not Path(install.python).exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", install.folder], check=True)
    return install


def _install(install: Install, *packages: str) -> None:
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--compile-bytecode"]
    subprocess.run([*command, "--python", install.python, *packages], check=True)


@dataclass(slots=True)
class Bench:
    """One benchmark run.  Without the paper's tool ``peer`` is None; ``quick`` only tests the
    rows."""

    ours: Install
    peer: Install | None
    scratch: Path
    notes: Path
    quick: bool

    def amount(self, full: int, quick: int) -> int:
        """Return the full amount, or in quick mode just enough for a test."""
        return quick if self.quick else full

    @property
    def environment(self) -> dict[str, str]:
        """Variables of all measured programs: their state is in the scratch folder."""
        kept = {name: value for name, value in os.environ.items() if not _is_setting(name)}
        return {
            **kept,
            "HOME": str(self.scratch),
            "XDG_CONFIG_HOME": str(self.scratch / "config"),
            "GPUALERT_STATE_DIR": str(self.scratch / "state"),
            "GPUALERT_NOTIFY": "none",  # nor does the paper's tool send anything here
        }

    def child(self, *arguments: str | int, status: int = 0) -> list[str]:
        """The command line of child.py; it reports to :meth:`child_report`."""
        report = str(self.notes / "child.json")
        program = [self.ours.python, "-I", "-S", str(HERE / "child.py")]
        return [*program, report, str(status), *map(str, arguments)]

    def child_report(self) -> dict[str, Any]:
        """The report of the last child."""
        return _read_json(self.notes / "child.json")

    def meter(self, *command: str, stdout: int = subprocess.DEVNULL) -> dict[str, Any]:
        """Run a program to its end and return the report of meter.py."""
        report = self.notes / "meter.json"
        program = [self.ours.python, "-I", "-S", str(HERE / "meter.py"), str(report)]
        subprocess.run(
            [*program, *command],
            cwd=self.scratch,
            env=self.environment,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        return _read_json(report)

    def sync_disk(self) -> None:
        """Remove the logs and sync the disk, so that no figure includes earlier writes."""
        for path in self.scratch.iterdir():
            if path.is_dir():
                _remove(path)
            else:
                path.unlink()
        os.sync()


def _remove(folder: Path, tries: int = 50) -> None:
    """Remove *folder*, even if a process of the last run still writes into it."""
    for left in reversed(range(tries)):
        try:
            shutil.rmtree(folder)
            return
        except OSError:
            if not left:
                raise
            time.sleep(0.1)


class Worker:
    """An interpreter that runs commands in the ways of worker.py.  A context manager."""

    def __init__(self, bench: Bench, install: Install) -> None:
        self._process = subprocess.Popen(
            [install.python, HERE / "worker.py"],
            cwd=bench.scratch,
            env=bench.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()

    def call(self, way: str, command: list[str], times: int = 1) -> dict[str, Any]:
        """Run the command ``times`` times in that way; return the answer of worker.py."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = json.dumps({"way": way, "command": command, "times": times})
        self._process.stdin.write(request.encode() + b"\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the worker died of {way} {command}")
        return dict(json.loads(answer))


@contextmanager
def prepared(*, quick: bool, with_peer: bool) -> Iterator[Bench]:
    """A benchmark run with both tools installed; its scratch space is removed at the end.

    The scratch space is next to the sources, on a real disk; /tmp may be memory.
    """
    HOME.mkdir(exist_ok=True)
    ours = install_ours()
    peer = install_peer() if with_peer else None
    memory = Path("/dev/shm")  # a report of the child must not wait for the disk
    with (
        tempfile.TemporaryDirectory(dir=HOME) as scratch,
        tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else HOME) as notes,
    ):
        yield Bench(ours, peer, Path(scratch), Path(notes), quick)


def _is_setting(name: str) -> bool:
    return name.startswith(("GPUALERT_", "XDG_", "PYTHON"))


def _read_json(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text()))
