"""Waits of the ranks for their peers: who works while the others wait in a collective.

In a synchronous training all ranks make the same steps, and the slow one is the one that does not
wait.  py-spy (extra ``stacks``) reads the stacks of the ranks of this machine at random times,
without a pause: every two seconds on average, and so rarely that it takes at most a fiftieth of
one core.  Only a run of a job with a job directory is sampled, and only with three ranks or more.
Ranks that wait with NCCL wait in kernels of their GPUs, which no stack shows: there the load of the
GPUs counts instead.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping

from gpualert_common.errors import RecordError
from gpualert_common.processes.procfs import ProcessStat
from gpualert_common.processes.ranks import RankProcesses, read_identity
from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.record import Record
from gpualert_common.stacks.peer_waits import is_waiting_for_peers
from gpualert_common.stacks.py_spy import find_obstacle
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    SourceUnavailableError,
)

_LEAST_RANKS = 3
"""Of two ranks, one waits a little for the other in each step."""
_INTERVAL_S = 2.0
_COST = 0.02
"""Most of a core that the readings take: a training has at least one core for each rank."""


class PeerWaits(Source):
    """Numbers, of each "rank:0": ``stack_samples_total``, the times at which the stacks of all
    ranks of the machine were read, and ``peer_waits_total``, those at which the rank waited in a
    collective operation."""

    decides = "stragglers of a job, by the rank that works while the others wait for it"

    def __init__(self, run: ObservedRun | None) -> None:
        why, remedy = find_obstacle()
        if why:
            raise SourceUnavailableError(why, remedy)
        self._counts = WaitCounts()
        if run is not None and _has_job_directory(run):
            reader = StackReader(run, self._counts)
            threading.Thread(target=reader.run, name="gpualert-peer-waits", daemon=True).start()

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """Return the counts so far; the stacks are read at random times in between."""
        return self._counts.list_samples()


SOURCE: type[Source] = PeerWaits


class WaitCounts:
    """Counts of the readings and of the waits of each rank, from one thread to another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._samples: Counter[str] = Counter()
        self._waits: Counter[str] = Counter()

    def add(self, waits: Mapping[str, bool]) -> None:
        """Add one reading of all ranks."""
        with self._lock:
            for name, is_waiting in waits.items():
                self._samples[name] += 1
                self._waits[name] += is_waiting

    def list_samples(self) -> list[Sample]:
        """Return the counts of each rank."""
        with self._lock:
            return [
                Sample(name, {"stack_samples_total": count, "peer_waits_total": self._waits[name]})
                for name, count in self._samples.items()
            ]


class StackReader:
    """Reads the stacks of all ranks again and again, until the process ends.

    The times are random and independent of each other, so that no step of the training agrees with
    them, and the share of the waits is that of the time.
    """

    def __init__(self, run: ObservedRun, counts: WaitCounts) -> None:
        self._tree = SampledTree(run.pid, run.marker)
        self._ranks = RankProcesses()
        self._counts = counts

    def run(self) -> None:
        """Read at random times; never returns."""
        interval_s = _INTERVAL_S
        while True:
            time.sleep(random.expovariate(1.0 / interval_s))
            began = time.monotonic()
            try:
                self.read()
            except Exception:  # noqa: BLE001 - the boundary of the thread: /proc changes as it is read
                interval_s = max(interval_s, 60.0)
                continue
            interval_s = max(_INTERVAL_S, (time.monotonic() - began) / _COST)

    def read(self) -> None:
        """Read the stacks of all ranks; a reading that lacks one of them does not count."""
        ranks = self._ranks.find_workers(self._tree.members())
        if not ranks or not any(_has_peers(one) for one in ranks.values()):
            return
        waits: dict[str, bool] = {}
        for name, one in ranks.items():
            is_waiting = is_waiting_for_peers(one.pid)
            if is_waiting is None:
                return
            waits[name] = is_waiting
        self._counts.add(waits)


def _has_peers(one: ProcessStat) -> bool:
    size = read_identity(one).get("world_size")
    return isinstance(size, int) and size >= _LEAST_RANKS


def _has_job_directory(run: ObservedRun) -> bool:
    try:
        job = Record.open(run.record_path).spec.job
    except (OSError, RecordError):
        return False
    return bool(job and job.get("directory"))
