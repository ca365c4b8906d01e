"""``airflow standalone``: LocalExecutor and PostgreSQL."""

from __future__ import annotations

import signal
from collections.abc import Callable

from tests.faults.airflow.deployment import Deployment, send
from tests.observer import parent_of
from tests.supervised import until


class Standalone(Deployment):
    """All programs of Airflow under one command; its workers are children of the scheduler."""

    executor = "LocalExecutor"

    def start(self) -> None:
        """Start it and return when the API answers."""
        self._database.start()
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
