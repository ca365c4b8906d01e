"""Airflow's programs one by one: CeleryExecutor, PostgreSQL, Redis, and several workers."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from celery import Celery  # type: ignore[import-untyped]

from gpualert_common.processes.procfs import read_stat
from tests.faults.airflow.deployment import Deployment, send
from tests.faults.airflow.servers import Redis
from tests.observer import every_pid, task_of
from tests.supervised import free_port, until

STEADY = "steady"
"""Queue of the worker without faults."""
SHARED = "default"
STEADY_AT_ONCE = 24
MEETING_S = 240.0
"""Time in which all tasks of one worker reach the fault that hits them together."""

_HOST = """
hostname "$1"
[ -z "$2" ] || mount -t tmpfs -o mode=700 none "$2"
shift 2
"$@"
exec sleep infinity
"""
"""The first process of a host or container: it stays when its worker dies."""


@dataclass
class Worker:
    """One ``airflow celery worker``, the only one that listens to its queue.

    ``tasks`` meet before something is done to the worker.  ``host`` runs it on a host of that
    name: a PID and UTS namespace; ``disk`` is then a directory that no other host sees.
    ``variables`` are its own, in addition to those of all.
    """

    queue: str
    tasks: int
    host: str = ""
    disk: Path | None = None
    variables: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    meeting: threading.Barrier = field(init=False)

    def __post_init__(self) -> None:
        self.meeting = threading.Barrier(self.tasks, timeout=MEETING_S)

    @property
    def init(self) -> int:
        """The first process of its host."""
        assert self.process is not None
        return _children(self.process.pid)[0]

    @property
    def main(self) -> int:
        """Return the process that gets the signals."""
        assert self.process is not None
        return _children(self.init)[0] if self.host else self.process.pid


class CeleryWorkers(Deployment):
    """One worker that stays, and one for each queue whose worker gets a fault."""

    executor = "CeleryExecutor"

    def __init__(
        self, home: Path, dags: Path, variables: Mapping[str, str], workers: list[Worker]
    ) -> None:
        super().__init__(home, dags, variables)
        self.workers = {worker.queue: worker for worker in workers}
        self._broker = Redis()
        self.environment |= {
            "AIRFLOW__CELERY__BROKER_URL": self._broker.url,
            "AIRFLOW__CELERY__SYNC_PARALLELISM": "1",
            "AIRFLOW__OPERATORS__DEFAULT_QUEUE": SHARED,
            # The name of a host in a test is in no DNS.
            "AIRFLOW__CORE__HOSTNAME_CALLABLE": "socket.gethostname",
        }
        self._celery = Celery(broker=self._broker.url, set_as_current=False)

    def start(self) -> None:
        """Start all programs and return when the API answers and every worker listens."""
        self._broker.start()
        self._database.start()
        migrate = self.spawn("db", "migrate")
        until(lambda: migrate.poll() is not None, "the database to be made", 120)
        assert migrate.returncode == 0, (self.home / "db.out").read_text()
        for program in ("api-server", "scheduler", "dag-processor"):
            self.spawn(program)
        self._start_worker(Worker(SHARED, 1), STEADY, STEADY_AT_ONCE)
        for queue, worker in self.workers.items():
            self._start_worker(worker, queue, worker.tasks)
        until(self.answers, "the API server", 180, poll_s=0.1)
        names = {f"celery@{name}" for name in (STEADY, *self.workers)}
        inspect = self._celery.control.inspect(timeout=2.0)

        def all_listen() -> bool:
            assert all(one is migrate or one.poll() is None for one in self._started), "one is gone"
            return names <= set(inspect.active_queues() or ())

        until(all_listen, "the workers", 180)

    def _start_worker(self, worker: Worker, name: str, at_once: int) -> None:
        within: tuple[str, ...] = ()
        port = str(free_port())
        variables = {"AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": port, **worker.variables}
        if worker.host:
            disk = "" if worker.disk is None else str(worker.disk)
            spaces = ("--pid", "--uts", "--mount", "--mount-proc", "--fork", "--kill-child")
            within = ("unshare", *spaces, "sh", "-c", _HOST, "host", worker.host, disk)
        if worker.disk is not None:
            worker.disk.mkdir()
            variables["GPUALERT_STATE_DIR"] = str(worker.disk)
        options = ("--celery-hostname", name, "--concurrency", str(at_once))
        worker.process = self.spawn(
            "celery",
            "worker",
            "--queues",
            worker.queue,
            *options,
            name=f"worker-{name}",
            within=within,
            variables=variables,
        )

    def states(self) -> list[Path]:
        """Return the state directories of its hosts, as paths on this host."""
        own = [worker for worker in self.workers.values() if worker.disk is not None]
        return [self.state, *(Path(f"/proc/{one.init}/root{one.disk}") for one in own)]

    def end(self) -> None:
        """Kill all processes of this deployment."""
        try:
            super().end()
        finally:
            self._celery.close()
            self._broker.end()

    # -- faults of workers -----------------------------------------------------------------

    def kill_worker(self, queue: str, runner: Callable[[], int]) -> None:
        """SIGKILL all processes of a worker, its tasks' too; then another one has its queue."""
        self._once(queue, self._kill)

    def drain_worker(self, queue: str, runner: Callable[[], int]) -> None:
        """Celery's cold shutdown of a worker; then another one has its queue."""
        self._once(queue, lambda worker: send(worker.main, signal.SIGQUIT))

    def terminate_worker(self, queue: str) -> None:
        """SIGTERM to a worker, which by default is a warm shutdown; then another has its queue."""
        self._once(queue, lambda worker: send(worker.main, signal.SIGTERM))

    def lose_host(self, queue: str) -> None:
        """End a worker's host with all that runs there; then another worker has its queue."""
        self._once(queue, lambda worker: send(worker.init, signal.SIGKILL))

    def _once(self, queue: str, act: Callable[[Worker], None]) -> None:
        """Act when all tasks of the worker have reached this point."""
        worker = self.workers[queue]
        if worker.meeting.wait() == 0:
            act(worker)
            to = [f"celery@{STEADY}"]
            answer = self._celery.control.add_consumer(queue, destination=to, reply=True)
            assert answer, f"{STEADY} does not listen to {queue}"
        worker.meeting.wait()

    def _kill(self, worker: Worker) -> None:
        main = worker.main
        for pid in [main, *_descendants(main)]:
            if task_of(pid) is None:  # a training is no part of the worker
                send(pid, signal.SIGKILL)

    def restart_broker(self) -> None:
        """Restart Redis; its data are on disk."""
        self._broker.stop()
        self._broker.start()

    def redeliver(self, dag: str) -> int:
        """Redeliver a message, as the broker does after its visibility timeout.

        Returns how many messages of the DAG there were, which a worker has taken and not yet
        acknowledged.
        """
        found = 0
        with self._celery.connection() as connection, connection.channel() as channel:
            for tag, message in channel.client.hgetall(channel.unacked_key).items():
                if dag.encode() in base64.b64decode(json.loads(message)[0]["body"]):
                    channel.qos.restore_by_tag(tag.decode())
                    found += 1
        return found


def _children(pid: int) -> list[int]:
    """Return the children of a process, the oldest first: process ids begin again at the lowest."""
    found = [stat for one in every_pid() if (stat := read_stat(one)) and stat.parent == pid]
    return [stat.pid for stat in sorted(found, key=lambda stat: stat.start_ticks)]


def _descendants(pid: int) -> list[int]:
    """Return the descendants of a process, children first."""
    found = [pid]
    for one in found:
        found += _children(one)
    return found[1:]
