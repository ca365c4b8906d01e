"""A real ``airflow standalone`` for tests: an AIRFLOW_HOME and ports of its own, on 127.0.0.1."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeVar

from tests.observer import command_of, environ_of, every_pid

AIRFLOW = str(Path(sys.executable).with_name("airflow"))
HEARTBEAT_TIMEOUT_S = 40
"""After this long without a heartbeat a task counts as lost; above what a restart of the API server
takes on a loaded machine."""

PATIENCE_S = 90.0
"""For an answer of the API: on SQLite it may be locked out, and it may be away."""

Found = TypeVar("Found")


def wait_for(
    look: Callable[[], Found | None], what: str, deadline_s: float, poll_s: float = 0.1
) -> Found:
    """The first true value that ``look`` gives; fails naming ``what`` when none comes."""
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


class Standalone:
    """All of Airflow, started and ended here; everything of it carries a mark."""

    def __init__(self, home: Path, dags: Path, variables: dict[str, str]) -> None:
        self.home = home
        self.state = home / "gpualert"
        self.mark = f"AIRFLOW_LAB_{uuid.uuid4().hex}"
        self.port = free_port()
        url = f"http://127.0.0.1:{self.port}"
        (home / "tmp").mkdir()
        database = f"{home}/airflow.db?timeout=12"
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        self.environment = {
            **kept,
            **variables,
            self.mark: "1",
            "SPT_NOENV": "1",  # titles of processes must not overwrite the mark
            "PATH": f"{Path(AIRFLOW).parent}:{kept.get('PATH', '/usr/bin:/bin')}",
            "HOME": str(home),
            "TMPDIR": str(home / "tmp"),
            "GPUALERT_STATE_DIR": str(self.state),
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{database}",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC": f"sqlite+aiosqlite:///{database}",
            # SQLite has one writer at a time: fewer of them, and all are patient.
            "AIRFLOW__SCHEDULER__PARSING_CLEANUP_INTERVAL": "3600",
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": "24",
            "AIRFLOW__CORE__MAX_ACTIVE_TASKS_PER_DAG": "24",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__BASE_URL": url,
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(free_port()),
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(free_port()),
            "AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK": "False",
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": str(HEARTBEAT_TIMEOUT_S),
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "3",
            "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "3",
            "AIRFLOW__WORKERS__MAX_FAILED_HEARTBEATS": "10",
        }
        self._started: list[subprocess.Popen[bytes]] = []
        self._token = ""
        self._writing = threading.Lock()
        """On SQLite two requests that write lock each other out for good."""

    def start(self) -> None:
        """Start it and return when it takes requests and knows its DAGs."""
        self.spawn("standalone")
        wait_for(self.answers, "the API server", 180)

    def spawn(self, command: str) -> None:
        """Start one of its programs, such as "triggerer", beside what runs."""
        with (self.home / f"{command}.out").open("ab") as out:
            self._started.append(
                subprocess.Popen(
                    [AIRFLOW, command],
                    env=self.environment,
                    cwd=self.home,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )

    # -- its API ---------------------------------------------------------------------------

    def call(self, method: str, path: str, body: object = None) -> Any:
        """The answer of the public API."""
        if not self._token:
            with urllib.request.urlopen(f"{self._url}/auth/token", timeout=30) as answer:
                self._token = json.load(answer)["access_token"]
        request = urllib.request.Request(
            f"{self._url}/api/v2/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )
        alone = self._writing if method != "GET" else nullcontext()
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                with alone, urllib.request.urlopen(request, timeout=20) as answer:
                    return json.load(answer)
            except OSError as error:
                answered = isinstance(error, urllib.error.HTTPError) and error.code < 500
                if answered or time.monotonic() > deadline:
                    raise
            time.sleep(1.0)

    @property
    def _url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answers(self) -> bool:
        """True while the API server takes requests."""
        try:
            with urllib.request.urlopen(f"{self._url}/api/v2/version", timeout=5):
                return True
        except OSError:
            return False

    def knows(self, dag: str) -> bool:
        """True when the DAG has been read."""
        try:
            return not self.call("GET", f"dags/{dag}")["is_paused"]
        except urllib.error.HTTPError:
            return False

    def trigger(self, dag: str) -> str:
        """Begin a run of a DAG and return its id."""
        wait_for(lambda: self.knows(dag), f"the DAG {dag}", 120)
        run = f"run_{uuid.uuid4().hex[:8]}"
        body = {"logical_date": None, "dag_run_id": run}
        try:
            self.call("POST", f"dags/{dag}/dagRuns", body)
        except urllib.error.HTTPError as error:
            if error.code != 409:  # else it was begun, and the answer was lost
                raise
        return run

    def task(self, dag: str, run: str) -> dict[str, Any]:
        """The task instance ``train`` of a run: state, try_number, id."""
        answer: dict[str, Any] = self.call("GET", f"dags/{dag}/dagRuns/{run}/taskInstances/train")
        return answer

    def is_over(self, dag: str, run: str) -> bool:
        """True when the DAG run has ended."""
        return bool(self.call("GET", f"dags/{dag}/dagRuns/{run}")["state"] in ("success", "failed"))

    def mark_failed(self, dag: str, run: str) -> None:
        """What the button of the web page does."""
        self.call("PATCH", f"dags/{dag}/dagRuns/{run}/taskInstances/train", {"new_state": "failed"})

    def clear(self, dag: str, run: str) -> None:
        """Clear the task, so that it runs again."""
        body = {"dry_run": False, "dag_run_id": run, "task_ids": ["train"], "only_failed": False}
        self.call("POST", f"dags/{dag}/clearTaskInstances", body)

    def returned(self, dag: str, run: str) -> Any:
        """What the task returned; None when nothing."""
        path = f"dags/{dag}/dagRuns/{run}/taskInstances/train/xcomEntries/return_value"
        try:
            return self.call("GET", path)["value"]
        except urllib.error.HTTPError:
            return None

    # -- its processes ---------------------------------------------------------------------

    def living(self) -> list[int]:
        """Every process of it, trainings included."""
        mark = self.mark.encode()
        return [pid for pid in every_pid() if mark in environ_of(pid)]

    def stop_api_server(self) -> None:
        """End the API server, as a deployment would."""
        ours = [pid for pid in self.living() if _is_api_server(command_of(pid))]
        for pid in ours:
            _send(pid, signal.SIGTERM)
        wait_for(lambda: not self.answers(), "the API server to be gone", 30)

        def gone() -> bool:
            return not any(command_of(pid) for pid in ours)

        deadline = time.monotonic() + 15
        while not gone() and time.monotonic() < deadline:
            time.sleep(0.1)
        for pid in ours:
            _send(pid, signal.SIGKILL)

    def start_api_server(self) -> None:
        """Bring the API server back."""
        self.spawn("api-server")
        wait_for(self.answers, "the API server to be back", 120)

    def end(self) -> None:
        """Kill everything that this started."""

        def none_left() -> bool:
            left = self.living()
            for pid in left:
                _send(pid, signal.SIGKILL)
            for process in self._started:
                process.poll()
            return not any(command_of(pid) for pid in left)

        wait_for(none_left, "the processes of Airflow to be gone", 60)
        for process in self._started:
            process.wait()


def _is_api_server(command: list[str]) -> bool:
    words = " ".join(command)
    return "api-server" in words or "api_server" in words or "uvicorn" in words


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
