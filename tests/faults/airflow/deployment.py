"""A real Airflow for tests: an AIRFLOW_HOME and ports of its own, on 127.0.0.1."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from tests.faults.airflow.servers import PostgreSQL
from tests.observer import command_of, environ_of, every_pid
from tests.supervised import free_port, until

AIRFLOW = str(Path(sys.executable).with_name("airflow"))
HEARTBEAT_TIMEOUT_S = 60
"""After this long without a heartbeat a task counts as lost; above what a restart of the API server
takes on a loaded machine."""

START_DEADLINE_S = 90.0
"""Limit for an answer of the API, which may be restarting."""

STARTING_AT_ONCE = 6
"""Tasks of a matrix that run at the same time; each start takes seconds of a core."""


class Deployment(ABC):
    """All programs of an Airflow, started and stopped here; all processes carry a mark."""

    executor: ClassVar[str]

    def __init__(self, home: Path, dags: Path, variables: Mapping[str, str]) -> None:
        self.home = home
        self.state = home / "gpualert"
        self.outputs = home / "outputs"
        self.mark = f"AIRFLOW_LAB_{uuid.uuid4().hex}"
        self.port = free_port()
        url = f"http://127.0.0.1:{self.port}"
        # On a loaded machine SQLite, with one writer at a time, ends the scheduler.
        self._database = PostgreSQL()
        (home / "tmp").mkdir()
        self.outputs.mkdir()
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
            "MATRIX_OUTPUTS": str(self.outputs),
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg2://{self._database.url}",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC": f"postgresql+asyncpg://{self._database.url}",
            # A request takes two connections: with the default pool of 15, requests that come
            # together wait half a minute for each other.
            "AIRFLOW__DATABASE__SQL_ALCHEMY_POOL_SIZE": "50",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_MAX_OVERFLOW": "50",
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__EXECUTOR": self.executor,
            "AIRFLOW__CORE__PARALLELISM": "48",
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
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "30",  # for a loaded machine
            "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "3",
            "AIRFLOW__WORKERS__MAX_FAILED_HEARTBEATS": "10",
        }
        self.starting = threading.BoundedSemaphore(STARTING_AT_ONCE)
        self._started: list[subprocess.Popen[bytes]] = []
        self._token = ""

    @abstractmethod
    def start(self) -> None:
        """Start it and return when the API answers."""

    def spawn(
        self,
        *command: str,
        name: str = "",
        within: tuple[str, ...] = (),
        variables: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start one of its programs, such as "triggerer", in addition to those that run.

        ``within`` is a command that starts it; ``name`` that of the file with its output.
        """
        with (self.home / f"{name or command[0]}.out").open("ab") as out:
            started = subprocess.Popen(
                [*within, AIRFLOW, *command],
                env={**self.environment, **(variables or {})},
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._started.append(started)
        return started

    def states(self) -> list[Path]:
        """Return the state directories of its hosts, as paths on this host."""
        return [self.state]

    # -- its workers -----------------------------------------------------------------------

    @abstractmethod
    def kill_worker(self, queue: str, runner: Callable[[], int]) -> None:
        """Send SIGKILL to the worker of a task's queue and to the task's own process."""

    @abstractmethod
    def drain_worker(self, queue: str, runner: Callable[[], int]) -> None:
        """Drain that worker with its tasks."""

    # -- its API ---------------------------------------------------------------------------

    def use_token(self, token: str) -> None:
        """Call the API with this token, where users log in."""
        self._token = token

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Return the answer of the public API."""
        if not self._token:
            with urllib.request.urlopen(f"{self._url}/auth/token", timeout=30) as answer:
                self._token = json.load(answer)["access_token"]
        request = urllib.request.Request(
            f"{self._url}/api/v2/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )
        deadline = time.monotonic() + START_DEADLINE_S
        while True:
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
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
        """Return True while the API server answers."""
        try:
            with urllib.request.urlopen(f"{self._url}/api/v2/version", timeout=5):
                return True
        except OSError:
            return False

    def knows(self, dag: str) -> bool:
        """Return True when the DAG is parsed."""
        try:
            return not self.call("GET", f"dags/{dag}")["is_paused"]
        except urllib.error.HTTPError:
            return False

    def trigger(self, dag: str) -> str:
        """Start a run of a DAG and return its id."""
        until(lambda: self.knows(dag), f"the DAG {dag}", 120, poll_s=0.1)
        run = f"run_{uuid.uuid4().hex[:8]}"
        body = {"logical_date": None, "dag_run_id": run}
        try:
            self.call("POST", f"dags/{dag}/dagRuns", body)
        except urllib.error.HTTPError as error:
            if error.code != 409:  # else it was begun, and the answer was lost
                raise
        return run

    def task(self, dag: str, run: str, task: str = "train", index: int = -1) -> dict[str, Any]:
        """Return the task instance of a run: state, try_number, id."""
        path = f"dags/{dag}/dagRuns/{run}/taskInstances/{task}"
        answer: dict[str, Any] = self.call("GET", path if index < 0 else f"{path}/{index}")
        return answer

    def is_over(self, dag: str, run: str) -> bool:
        """Return True when the DAG run has ended."""
        return bool(self.call("GET", f"dags/{dag}/dagRuns/{run}")["state"] in ("success", "failed"))

    def mark_failed(self, dag: str, run: str) -> None:
        """Mark the task failed, as the button of the web page does."""
        self.call("PATCH", f"dags/{dag}/dagRuns/{run}/taskInstances/train", {"new_state": "failed"})

    def clear(self, dag: str, run: str) -> None:
        """Clear the task, so that it runs again."""
        body = {"dry_run": False, "dag_run_id": run, "task_ids": ["train"], "only_failed": False}
        self.call("POST", f"dags/{dag}/clearTaskInstances", body)

    def returned(self, dag: str, run: str, task: str = "train", index: int = -1) -> Any:
        """Return the task's result; None without one."""
        path = f"dags/{dag}/dagRuns/{run}/taskInstances/{task}/xcomEntries/return_value"
        try:
            return self.call("GET", f"{path}?map_index={index}")["value"]
        except urllib.error.HTTPError:
            return None

    # -- its processes ---------------------------------------------------------------------

    def living(self) -> list[int]:
        """Return all of its processes, trainings included."""
        mark = self.mark.encode()
        return [pid for pid in every_pid() if mark in environ_of(pid)]

    def stop_api_server(self) -> None:
        """Stop the API server, as a deployment does."""
        ours = [pid for pid in self.living() if _is_api_server(command_of(pid))]
        for pid in ours:
            send(pid, signal.SIGTERM)
        until(lambda: not self.answers(), "the API server to be gone", 30, poll_s=0.1)

        def gone() -> bool:
            return not any(command_of(pid) for pid in ours)

        deadline = time.monotonic() + 15
        while not gone() and time.monotonic() < deadline:
            time.sleep(0.1)
        for pid in ours:
            send(pid, signal.SIGKILL)

    def start_api_server(self) -> None:
        """Start the API server again."""
        self.spawn("api-server")
        until(self.answers, "the API server to be back", 120, poll_s=0.1)

    def end(self) -> None:
        """Kill all processes of this deployment, and remove its database."""

        def none_left() -> bool:
            left = self.living()
            for pid in left:
                send(pid, signal.SIGKILL)
            for process in self._started:
                process.poll()
            return not any(command_of(pid) for pid in left)

        try:
            until(none_left, "the processes of Airflow to be gone", 60)
            for process in self._started:
                process.wait()
        finally:
            self._database.end()


def _is_api_server(command: list[str]) -> bool:
    words = " ".join(command)
    return "api-server" in words or "api_server" in words or "uvicorn" in words


def send(pid: int, number: int) -> None:
    """Send a signal, if the process still exists."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
