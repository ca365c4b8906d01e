"""A real Prefect server, process worker and flows for tests, on 127.0.0.1 and in one directory."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpualert_common.record import Record
from tests.prefect.flows import ASYNC_FACES
from tests.supervised import until

FLOWS = Path(__file__).with_name("flows.py")
ROOT = FLOWS.parents[2]
PREFECT = str(Path(sys.executable).with_name("prefect"))
POOL = "matrix"
SERVER_START_S = 120.0
QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_CLI_PROMPT": "false",
    "PREFECT_LOGGING_COLORS": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
}


def environment(home: Path, **more: str) -> dict[str, str]:
    """The variables of every process of a test: nothing of the user's Prefect, no network."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PREFECT_", "GPUALERT_"))
    }
    return {
        **kept,
        **QUIET,
        "PREFECT_HOME": str(home / "prefect"),
        "XDG_STATE_HOME": str(home / "xdg-state"),
        "GPUALERT_NOTIFY": "none",  # tests of alerts name their channels
        "PYTHONPATH": str(ROOT),
        **more,
    }


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def end(process: subprocess.Popen[bytes], *, group: bool = True) -> None:
    """Kill a process, by default with its group, and reap it."""
    try:
        if group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except ProcessLookupError:
        pass
    process.wait()


@contextmanager
def server(home: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server with a database of its own; yields the address of its API and its process."""
    home.mkdir(parents=True, exist_ok=True)
    port = free_port()
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [PREFECT, "server", "start", "--host", "127.0.0.1", "--port", str(port)],
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    url = f"http://127.0.0.1:{port}/api"

    def healthy() -> bool:
        assert process.poll() is None, (home / "server.log").read_text()[-3000:]
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    try:
        until(healthy, "the server to be healthy", SERVER_START_S)
        yield url, process
    finally:
        end(process)


@contextmanager
def worker(home: Path, url: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process worker that polls every second, in a session of its own."""
    fast = {"PREFECT_WORKER_QUERY_SECONDS": "1", "PREFECT_API_URL": url}
    with (home / f"worker-{uuid.uuid4().hex[:6]}.log").open("wb") as log:
        process = subprocess.Popen(
            [PREFECT, "worker", "start", "--pool", POOL, "--type", "process"],
            env=environment(home, **fast),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        end(process)


@dataclass(slots=True)
class Scene:
    """One training by one face: its mark, its directory, and its flow process if we started it."""

    face: str
    mark: str
    directory: Path
    process: subprocess.Popen[bytes] | None = None
    flow_run_id: str | None = None

    @classmethod
    def new(cls, home: Path, face: str) -> Scene:
        """A scene with nothing in it yet."""
        mark = f"m{uuid.uuid4().hex[:12]}"
        directory = home / mark
        directory.mkdir(parents=True)
        return cls(face, mark, directory)

    def parameters(self, **more: Any) -> dict[str, Any]:
        """The parameters of its flow."""
        return {"face": self.face, "mark": self.mark, "directory": str(self.directory), **more}

    @property
    def flow(self) -> str:
        """The name of the flow that its face needs."""
        return "atraining" if self.face in ASYNC_FACES else "training"

    def start(self, home: Path, url: str, **more: Any) -> None:
        """Run its flow as a script, in a session of its own."""
        with (self.directory / "flow.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(FLOWS), json.dumps(self.parameters(**more))],
                env=environment(home, PREFECT_API_URL=url),
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def journal(self) -> list[dict[str, Any]]:
        """What the flow wrote down, from its first engine to its last."""
        try:
            lines = (self.directory / "journal").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines]

    def engines(self) -> list[int]:
        """The processes that ran the flow, oldest first."""
        return [entry["engine"] for entry in self.journal() if "engine" in entry]

    def ended(self) -> dict[str, Any] | None:
        """What the last engine wrote at its end, if it came to that."""
        entries = self.journal()
        return entries[-1] if entries and "engine" not in entries[-1] else None

    def records(self) -> list[Record]:
        """The records of its runs, oldest first."""
        runs = sorted((self.directory / "state" / "runs").glob("*"))
        return [Record.open(str(path)) for path in runs]
