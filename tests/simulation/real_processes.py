"""A job whose nodes are real processes on a directory store, for small numbers of nodes.

The processes are those of the simulation.  Their time passes faster than that of this machine, so
that waits of minutes take seconds; the files, the kills and the races for them are real.
"""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

from gpualert_common.job_store.opening import open_store
from gpualert_common.job_store.store import PrunableStore, StoredFile
from gpualert_common.jobs.digests.digest_codec import encode_file
from gpualert_common.structs import replace
from tests.simulation.job import SimulatedJob, SimulatedNode
from tests.simulation.node_processes import JobOutcome, NodeProcesses, SentAlert
from tests.simulation.trial import TrialResult, assess_outcome, plan_job

REAL_DISTURBANCES = ("none", "owner_killed", "senders_killed", "earlier_attempt", "requeued")
"""Disturbances of senders; those of the store are simulated only."""
_MOST_S = 900.0
"""Time of the job after the last end of a run."""


@dataclass(frozen=True)
class FastTime:
    """A time that began at ``begin`` and passes ``speed`` times faster than that of the machine."""

    begin: float
    speed: float
    real_begin: float

    def now(self) -> float:
        """Return the time of the job."""
        return self.find(time.time())

    def find(self, real: float) -> float:
        """Return the time of the job at a time of this machine."""
        return self.begin + (real - self.real_begin) * self.speed

    def sleep(self, seconds: float) -> None:
        """Let that time of the job pass."""
        time.sleep(max(0.0, seconds) / self.speed)


class FastStore:
    """A directory store whose files have the time of the job."""

    def __init__(self, home: str, clock: FastTime, on_created: Callable[[str], None]) -> None:
        self._store: PrunableStore = open_store(home)
        self._clock, self._on_created = clock, on_created
        self.written_bytes = 0

    @property
    def requests(self) -> int:
        """Number of requests so far."""
        return self._store.requests

    def list_files(self, folder: str) -> list[StoredFile]:
        """Return the files in a folder."""
        return [self._shift(one) for one in self._store.list_files(folder)]

    def find_file(self, path: str) -> StoredFile | None:
        """Return a file without its content."""
        found = self._store.find_file(path)
        return None if found is None else self._shift(found)

    def list_folders(self, folder: str) -> list[str]:
        """Return the names of the folders in a folder."""
        return self._store.list_folders(folder)

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """Return a file."""
        return self._store.read(path, most_bytes)

    def write(self, path: str, data: bytes) -> None:
        """Write a file."""
        self._store.write(path, data)
        self.written_bytes += len(data)

    def create(self, path: str, data: bytes) -> bool:
        """Write a file that does not exist yet."""
        is_made = self._store.create(path, data)
        if is_made:
            self._on_created(path)
        return is_made

    def _shift(self, file: StoredFile) -> StoredFile:
        return replace(file, modified_at=self._clock.find(file.modified_at))


class _AlertLog(list[SentAlert]):
    """Alerts of a process that may be killed: each is in a file once it is sent."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, alert: SentAlert) -> None:
        super().append(alert)
        self._path.write_bytes(pickle.dumps(list(self)))


def run_real_trial(
    fault: str, disturbance: str, seed: int, nodes: int, speed: float
) -> TrialResult:
    """Return the result of one variant whose nodes are real processes."""
    job = plan_job(fault, disturbance, seed, nodes)
    where = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=where) as home:
        return assess_outcome(
            job, seed, _RealJob(job, Path(home), speed).run(), time.process_time()
        )


class _RealJob:
    """The processes of a job, each started and killed at its time."""

    def __init__(self, job: SimulatedJob, home: Path, speed: float) -> None:
        self._job, self._home = job, home
        begin = min(node.heard_from for node in job.nodes) - 1.0
        self._clock = FastTime(begin, speed, time.time())
        self._context = get_context("fork")
        self._senders: list[BaseProcess] = []
        self._actions: list[tuple[float, int, Callable[[], None]]] = []

    def run(self) -> JobOutcome:
        """Return the outcome once all senders have ended."""
        store = open_store(str(self._home / "store"))
        for digest, _at in self._job.earlier:
            path = f"{self._job.key}/digests/{digest.run_id}.json"
            store.write(path, encode_file(digest))
        for node in self._job.nodes:
            self._plan_node(node)
        for at, _number, action in sorted(self._actions):
            self._clock.sleep(at - self._clock.now())
            action()
        deadline = time.monotonic() + _MOST_S / self._clock.speed
        for sender in self._senders:
            sender.join(max(0.0, deadline - time.monotonic()))
            sender.kill()
            sender.join()
        outcome = JobOutcome()
        for alerts in self._home.glob("*.alerts"):
            outcome.alerts += pickle.loads(alerts.read_bytes())
        outcome.alerts.sort(key=lambda one: one.at)
        return outcome

    def _plan_node(self, node: SimulatedNode) -> None:
        renewal = self._context.Process(target=self._work, args=(node, "renew"))
        self._plan(node.heard_from, renewal.start)
        ends = [one for one in (node.dead_at, node.ended_at) if one is not None]
        self._plan(max(min(ends), node.heard_from), lambda: _kill(renewal))
        if node.ended_at is None or node.dead_at is not None:
            return
        sender = self._context.Process(target=self._work, args=(node, "send"))
        self._senders.append(sender)
        self._plan(node.ended_at, sender.start)
        if node.sender_dead_at is not None:
            self._plan(node.sender_dead_at, lambda: _kill(sender))

    def _plan(self, at: float, action: Callable[[], None]) -> None:
        self._actions.append((at, len(self._actions), action))

    def _work(self, node: SimulatedNode, work: str) -> None:
        """Do the work of one process, in that process."""
        outcome = JobOutcome(alerts=_AlertLog(self._home / f"{node.host}.alerts"))
        store = FastStore(str(self._home / "store"), self._clock, self._watch_claims)
        processes = NodeProcesses(self._job, node, self._clock, store, outcome)
        getattr(processes, work)()

    def _watch_claims(self, path: str) -> None:
        """Kill this process after it made the first claim, if the job wants that."""
        after_s = self._job.owner_killed_after_s
        if after_s is None or not path.endswith("/alerts/1-1.json"):
            return
        threading.Timer(after_s / self._clock.speed, os.kill, (os.getpid(), signal.SIGKILL)).start()


def _kill(process: BaseProcess) -> None:
    process.kill()
    process.join()
