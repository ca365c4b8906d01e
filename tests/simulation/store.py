"""Store of a simulated job: each request takes virtual time, and may fail.

The files are in memory, which a request costs microseconds; the stored bytes are those that the
real code writes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Protocol, TypeVar

from gpualert_common.errors import StoreError
from gpualert_common.job_store.store import JobStore, StoredFile
from gpualert_common.notify.job_agreement import THREADS
from tests.simulation.virtual_time import Clock

Result = TypeVar("Result")


@dataclass(frozen=True)
class StoreConditions:
    """Conditions under which one node reaches the store.

    A request takes about ``latency_s``.  In the times ``outages`` it fails, after ``error_s``.  A
    part ``cut`` of the digests that it writes is cut.  Others see a digest ``late_s`` after it is
    written; a part ``doubled`` is written again later, and lies in a copy, too.
    """

    latency_s: float = 0.02
    outages: tuple[tuple[float, float], ...] = ()
    error_s: float = 5.0
    cut: float = 0.0
    late_s: float = 0.0
    doubled: float = 0.0


@dataclass
class StorePlace:
    """Files of all nodes by folder and name, each with the time of its last change.

    ``clock_offset_s`` is the error of the clock that stamps them; None: the writer stamps them.
    """

    clock_offset_s: float | None = 0.0
    folders: dict[str, dict[str, tuple[bytes, float]]] = field(default_factory=dict)
    entries: int = 0
    pending: list[tuple[float, int, str, bytes, float, bool]] = field(default_factory=list)

    def store(self, path: str, data: bytes, stamp: float) -> None:
        """Store a file."""
        folder, _, name = path.rpartition("/")
        self.folders.setdefault(folder, {})[name] = (data, stamp)

    def delay(self, visible_at: float, path: str, data: bytes, stamp: float) -> None:
        """Store a file at a later time."""
        self._push(visible_at, path, data, stamp, is_new=True)

    def repeat(self, at: float, path: str, data: bytes, stamp: float) -> None:
        """Store a file again at a later time, unless it has changed by then."""
        self._push(at, path, data, stamp, is_new=False)

    def apply_due_writes(self, now: float) -> None:
        """Store the files that are due."""
        while self.pending and self.pending[0][0] <= now:
            _at, _number, path, data, stamp, is_new = heapq.heappop(self.pending)
            found = self.find(path)
            if is_new or (found is not None and found[0] == data):
                self.store(path, data, stamp)

    def _push(self, at: float, path: str, data: bytes, stamp: float, *, is_new: bool) -> None:
        self.entries += 1
        heapq.heappush(self.pending, (at, self.entries, path, data, stamp, is_new))

    def find(self, path: str) -> tuple[bytes, float] | None:
        """Return content and stamp of a file; None where it does not exist."""
        folder, _, name = path.rpartition("/")
        return self.folders.get(folder, {}).get(name)


class CountingStore(JobStore, Protocol):
    """A store that counts the bytes that are written to it."""

    written_bytes: int


class SimulatedStore:
    """The store as one node sees it: a :class:`~gpualert_common.job_store.store.JobStore`."""

    def __init__(
        self,
        place: StorePlace,
        clock: Clock,
        chance: Random,
        conditions: StoreConditions,
        clock_offset_s: float = 0.0,
    ) -> None:
        self._place, self._clock, self._chance = place, clock, chance
        self._conditions, self._clock_offset_s = conditions, clock_offset_s
        self._requests = 0
        self._visible_at = 0.0
        self._own: dict[str, bytes] = {}
        self.written_bytes = 0
        self.on_created: Callable[[str], None] | None = None

    @property
    def requests(self) -> int:
        """Number of requests so far."""
        return self._requests

    def list_files(self, folder: str) -> list[StoredFile]:
        """Return the files in a folder."""
        return self._request(lambda: self._list(folder))

    def find_file(self, path: str) -> StoredFile | None:
        """Return a file without its content; None where it does not exist."""
        found = self._request(lambda: self._find(path))
        name = path.rpartition("/")[2]
        return None if found is None else StoredFile(name, len(found[0]), found[1])

    def list_folders(self, folder: str) -> list[str]:
        """Return the names of the folders in a folder."""
        prefix = f"{folder}/" if folder else ""
        return self._request(
            lambda: sorted(
                {
                    path.removeprefix(prefix).partition("/")[0]
                    for path in self._place.folders
                    if path.startswith(prefix)
                }
            )
        )

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """Return a file, None where it does not exist."""
        # A sender reads digests in several threads; here each takes its part of the time.
        parts = THREADS if "/digests/" in path else 1
        found = self._request(lambda: self._find(path), parts)
        return None if found is None else found[0][:most_bytes]

    def write(self, path: str, data: bytes) -> None:
        """Write a file, under the conditions of this node."""
        self._request(lambda: self._write(path, data))

    def create(self, path: str, data: bytes) -> bool:
        """Write a file that does not exist yet; False where it does."""

        def create() -> bool:
            if self._find(path) is not None:
                return False
            self._place.store(path, data, self._stamp())
            if self.on_created is not None:
                self.on_created(path)
            return True

        return self._request(create)

    def _request(self, answer: Callable[[], Result], parts: int = 1) -> Result:
        """Return the answer in the middle of the time that the request takes."""
        self._requests += 1
        now = self._clock.now()
        if any(begin <= now < end for begin, end in self._conditions.outages):
            self._clock.sleep(self._conditions.error_s * self._chance.uniform(0.2, 1.0) / parts)
            raise StoreError("/shared/jobs: request failed: Input/output error")
        half_s = 0.5 * self._conditions.latency_s * self._chance.expovariate(1.0) / parts
        self._clock.sleep(half_s)
        self._place.apply_due_writes(self._clock.now())
        result = answer()
        self._clock.sleep(half_s)
        return result

    def _write(self, path: str, data: bytes) -> None:
        self.written_bytes += len(data)
        given = self._conditions
        stamp = self._stamp()
        if "/digests/" not in path:
            self._place.store(path, data, stamp)
            return
        if self._chance.random() < given.cut:
            data = data[: self._chance.randrange(len(data))]
        if given.late_s:
            now = self._clock.now()
            at = max(now + given.late_s * self._chance.random(), self._visible_at)
            self._visible_at = at
            self._own[path] = data
            self._place.delay(at, path, data, stamp + at - now)
        else:
            self._place.store(path, data, stamp)
        if self._chance.random() < given.doubled:
            again_s = self._chance.uniform(0.1, 5.0)
            self._place.repeat(self._clock.now() + again_s, path, data, stamp + again_s)
            copy = path.removesuffix(".json") + "-copy.json"
            self._place.store(copy, data, stamp)

    def _stamp(self) -> float:
        offset_s = self._place.clock_offset_s
        return self._clock.now() + (self._clock_offset_s if offset_s is None else offset_s)

    def _find(self, path: str) -> tuple[bytes, float] | None:
        found = self._place.find(path)
        own = self._own.get(path)  # what this node wrote is late for the others only
        return found if own is None else (own, 0.0 if found is None else found[1])

    def _list(self, folder: str) -> list[StoredFile]:
        files = self._place.folders.get(folder, {})
        return [StoredFile(name, len(data), at) for name, (data, at) in files.items()]
