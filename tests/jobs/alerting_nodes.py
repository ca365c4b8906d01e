"""Nodes of one job that agree about its alert, in virtual time over a store in a real directory."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from gpualert_common.errors import StoreError
from gpualert_common.job_store.directory_store import DirectoryStore
from gpualert_common.job_store.store import JobStore, StoredFile
from gpualert_common.jobs.alerts.alert_ownership import JobAlert, JobAlertAction, JobAlertStep
from gpualert_common.jobs.digests.digest import Digest
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.jobs.job_report import JobReport
from tests.jobs.composed_job import END, KEY

SENDING = (JobAlertAction.SEND, JobAlertAction.ADD)
_NOTE_RETRY_S = 1.0


class BorderStore:
    """A store that calls ``before`` with the number of each request, which may raise."""

    def __init__(self, store: JobStore, before: Callable[[int], None]) -> None:
        self._store = store
        self.before = before
        self.count = 0

    def _ask(self) -> JobStore:
        self.count += 1
        self.before(self.count)
        return self._store

    @property
    def requests(self) -> int:
        """Number of requests so far."""
        return self.count

    def list_files(self, folder: str) -> list[StoredFile]:
        """List the files of a folder."""
        return self._ask().list_files(folder)

    def list_folders(self, folder: str) -> list[str]:
        """List the folders of a folder."""
        return self._ask().list_folders(folder)

    def find_file(self, path: str) -> StoredFile | None:
        """Find a file."""
        return self._ask().find_file(path)

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """Read a file."""
        return self._ask().read(path, most_bytes)

    def write(self, path: str, data: bytes) -> None:
        """Write a file."""
        self._ask().write(path, data)

    def create(self, path: str, data: bytes) -> bool:
        """Create a file."""
        return self._ask().create(path, data)


def work(_number: int) -> None:
    """Let a request pass."""


@dataclass(frozen=True)
class SentAlert:
    """An alert that a node sent."""

    host: str
    at: float
    attempt: int
    number: int
    report: JobReport | None


@dataclass
class AlertedNode:
    """A node whose run has ended: its last digest, and its steps from the time ``starts_at`` on.

    ``kill_at`` is the number of the step after which its sender is killed, ``kills_unnoted`` that
    it is killed between the alert and its note.  ``refuses`` says that its channels refuse alerts.
    """

    own: Digest
    store: BorderStore
    starts_at: float = END + 3.0
    kill_at: int = 0
    kills_unnoted: bool = False
    refuses: bool = False
    publishes: bool = True
    steps: list[JobAlertStep] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Open the job directory."""
        self.directory = JobDirectory(self.store, KEY)
        self.alert = JobAlert(self.directory, self.own)

    def now(self, at: float) -> float:
        """Return a time by the clock of the node."""
        return at + self.own.clock.offset_s

    @property
    def last(self) -> JobAlertStep:
        """The last step."""
        return self.steps[-1]


class AlertedJob:
    """A job whose nodes agree about its alert; ``now`` is the virtual time."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.sent: list[SentAlert] = []
        self.now = 0.0

    def store(self, before: Callable[[int], None] = work) -> BorderStore:
        """Return the store of one node."""
        return BorderStore(DirectoryStore(str(self.place), deadline_s=0.0), before)

    def add(self, own: Digest, **changes: object) -> AlertedNode:
        """Return a node that has published its last digest, or could not."""
        store = changes.pop("store", None) or self.store()
        node = AlertedNode(own, store, **changes)  # type: ignore[arg-type]
        if node.publishes:
            JobDirectory(self.store(), KEY).write_digest(own)
            node.alert.note_published(own.at)
        return node

    def run(self, nodes: Iterable[AlertedNode], until: float = END + 4000.0) -> list[SentAlert]:
        """Step all nodes to their end; return the alerts that were sent by then."""
        order = itertools.count()
        queue = [(node.starts_at, next(order), node) for node in nodes]
        heapq.heapify(queue)
        while queue:
            at, _order, node = heapq.heappop(queue)
            if at > until:
                break
            next_at = self._step(node, at)
            if next_at is not None:
                heapq.heappush(queue, (max(next_at, at + 0.01), next(order), node))
        return self.sent

    def _step(self, node: AlertedNode, at: float) -> float | None:
        """Step a node; return the time of its next step, None for none."""
        self.now = at
        step = node.alert.step(node.now(at))
        node.steps.append(step)
        if len(node.steps) == node.kill_at:
            return None
        if step.action in SENDING:
            if node.refuses:
                node.alert.note_refused(node.now(at))
                return at + 0.1
            self.sent.append(SentAlert(node.own.host, at, step.attempt, step.number, step.report))
            if node.kills_unnoted:
                return None
            self._note(node, at)
            return None
        if step.action is JobAlertAction.LEAVE:
            return None
        return step.next_at - node.own.clock.offset_s

    def _note(self, node: AlertedNode, at: float) -> None:
        for _try in range(10):
            try:
                node.alert.note_sent(node.now(at))
            except StoreError:
                self.now = at = at + _NOTE_RETRY_S
            else:
                return


def fail_between(first: int, last: int) -> Callable[[int], None]:
    """Return a border at which the requests of these numbers fail."""

    def before(number: int) -> None:
        if first <= number <= last:
            raise StoreError(f"request {number} failed")

    return before
