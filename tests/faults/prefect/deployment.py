"""A real Prefect server and process workers for tests, on 127.0.0.1 and in one directory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.flows import Flow
from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

from tests.faults.prefect.flows import TRAINER
from tests.observer import Observer
from tests.supervised import free_port, until

FLOWS = Path(__file__).with_name("flows.py")
ROOT = FLOWS.parents[3]
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
    """Return the environment of every process of a test, without the user's Prefect and network."""
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
        "PYTHONPATH": f"{ROOT}:{ROOT / 'prefect_collection'}",
        **more,
    }


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
    """Start a server with its own database; yield the address of its API and its process."""
    home.mkdir(parents=True, exist_ok=True)
    port = free_port()
    url = f"http://127.0.0.1:{port}/api"
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [PREFECT, "server", "start", "--host", "127.0.0.1", "--port", str(port)],
            env=environment(home, PREFECT_SERVER_UI_API_URL=url),  # its pages call that of 4200
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

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
    """Start a process worker that polls every second, in its own session.

    Its engines send heartbeats as often as Prefect allows.
    """
    fast = {
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
        "PREFECT_API_URL": url,
    }
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
class Place:
    """A server with a pool and the deployed flows of the fault matrix, and its observer."""

    home: Path
    url: str
    observer: Observer


@pytest.fixture(scope="session")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Start one server for all tests with a :func:`place`."""
    home = tmp_path_factory.mktemp("prefect")
    observer = Observer(TRAINER)
    with server(home) as (url, _process):
        found = Place(home, url, observer)
        with _at(found):
            with get_client(sync_client=True) as client:
                client.create_work_pool(WorkPoolCreate(name=POOL, type="process"))
            for name in ("training", "atraining"):
                deploy(FLOWS, name)
        observer.start()
        try:
            yield found
        finally:
            observer.end()


@pytest.fixture(scope="module")
def place(standing: Place) -> Iterator[Place]:
    """Use that server in this module alone; some modules have their own."""
    with _at(standing):
        yield standing


def deploy(path: Path, name: str) -> None:
    """Deploy a flow of that file, under its own name, for the workers of the pool."""
    flow: Any = Flow.from_source(str(path.parent), f"{path.name}:{name}")
    flow.deploy(name, POOL, print_next_steps=False, ignore_warnings=True)


def _at(place: Place) -> AbstractContextManager[object]:
    return temporary_settings(
        {PREFECT_API_URL: place.url, PREFECT_HOME: str(place.home / "prefect")}
    )
