"""``airflow standalone``: LocalExecutor and SQLite."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.faults.airflow.deployment import Deployment, send
from tests.observer import parent_of
from tests.supervised import until


class Standalone(Deployment):
    """All programs of Airflow under one command; its workers are children of the scheduler."""

    executor = "LocalExecutor"

    def __init__(self, home: Path, dags: Path, variables: Mapping[str, str]) -> None:
        super().__init__(home, dags, variables)
        database = f"{home}/airflow.db?timeout=12"
        self.environment |= {
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{database}",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC": f"sqlite+aiosqlite:///{database}",
            # SQLite has one writer at a time: fewer of them, and all are patient.
            "AIRFLOW__SCHEDULER__PARSING_CLEANUP_INTERVAL": "3600",
            "AIRFLOW__CORE__PARALLELISM": "24",
        }
        # Two requests that write lock each other out for good.
        self._writing = threading.Lock()

    def start(self) -> None:
        """Start it and return when the API answers."""
        self.spawn("standalone")
        until(self.answers, "the API server", 180, poll_s=0.1)

    def kill_worker(self, queue: str, runner: Callable[[], int]) -> None:
        """Send SIGKILL to the executor's worker of a task and to the task's own process."""
        pid = runner()
        worker = parent_of(pid)
        send(worker, signal.SIGKILL)
        send(pid, signal.SIGKILL)

    def drain_worker(self, queue: str, runner: Callable[[], int]) -> None:
        """Send SIGTERM to the executor's worker of a task, as a drain or an eviction does."""
        send(parent_of(runner()), signal.SIGTERM)
