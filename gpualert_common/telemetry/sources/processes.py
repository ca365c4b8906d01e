"""The processes of the run: what they use, whether they work or wait, and who they are.

Read from /proc.  Descriptors, bytes of disks and what a process waits for are shown to its own user
and to root; of other users' processes only the rest.
"""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpualert_common.processes.procfs import ProcessStat, parse_numbers, read
from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.telemetry.idle_processes import IdleProcesses
from gpualert_common.telemetry.rank_processes import RankProcesses, identity, worker_of
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    SourceUnavailableError,
    round_counter_s,
)

MOST_IN_DETAIL = 256
"""Processes whose descriptors and bytes are read; of all others only what one file tells."""
MOST_OF_A_KIND = 200
MOST_LISTED = 10_000
"""Numbers of processes that are told in a run."""

_Identity = tuple[int, int]


class LeakDetector:
    """A sum over processes that come and go, as a counter.

    What one that is gone had used stays in it, unless who waited for it counts that.
    """

    def __init__(self) -> None:
        self._gone = 0.0
        self._last = 0.0

    def see(self, present: float) -> float:
        """The counter, by the sum over those that are there now."""
        self._gone = max(self._gone, self._last - present)
        self._last = self._gone + present
        return self._last


class Processes(Source):
    """The run's processes: all together, and those that do its work.

    Numbers, of "host:tree": ``processes``, ``threads``, ``uninterruptible`` (in state D),
    ``rss_bytes`` (memory that several share counts for each), ``cpu_seconds_total``, and of the 256
    that came first ``fds``, ``fds_used_percent`` (of the one nearest to its limit),
    ``read_bytes_total`` and ``written_bytes_total`` (of disks).  Of each "rank:0", up to 64, and of
    "leader", or what it runs where it is a shell: ``cpu_seconds_total``, ``rss_bytes``,
    ``threads``, ``uninterruptible`` and ``stopped`` (0 or 1), ``fds``, ``fds_limit``,
    ``read_bytes_total``, ``written_bytes_total``, and of its main thread
    ``voluntary_switches_total`` and ``involuntary_switches_total``.

    Events: ``processes_seen``, the numbers of those that came and lasted for two looks, by name.
    ``rank_process``, who a rank or the leader's worker is: pid, ranks, GPUs that it may see,
    container, pod, Slurm job.  ``process_idle`` when one of them used less than 5 % of a core for a
    minute, with its state and what it waits for, and ``process_busy`` when it works again.
    ``process_blocked`` when a process was in state D at each look for a minute.
    """

    decides = (
        "C3 by idle, blocked and stopped ranks; "
        "supports A2, C1, C2, D1 and D3 by memory, descriptors and processor time of each rank"
    )

    def __init__(self, subject: ObservedRun | None) -> None:
        if not os.path.isdir("/proc/self"):
            raise SourceUnavailableError("/proc is not mounted", "mount it")
        self._leader = os.getpid() if subject is None else subject.pid
        self._tree = SampledTree(self._leader, "" if subject is None else subject.mark)
        self._ranks = RankProcesses()
        self._waits = IdleProcesses()
        self._sums: dict[str, LeakDetector] = defaultdict(LeakDetector)
        self._fresh: set[_Identity] = set()
        self._listed: set[_Identity] = set()
        self._numbers = 0
        self._identified: set[tuple[str, _Identity]] = set()
        self._told: Counter[str] = Counter()

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """The processes of now."""
        members = self._tree.members()
        live = [one for one in members.values() if one.is_live]
        working = self._ranks.among(members)
        watched = dict(working)
        leader = worker_of(self._leader, members)
        if leader is not None:
            working["leader"] = leader
            if not watched:  # a launcher waits for its ranks
                watched["leader"] = leader
        uses = {one.pid: _use(one.pid) for one in live[:MOST_IN_DETAIL]}
        yield self._sum(members, live, uses)
        for name, one in working.items():
            yield Sample(name, {**_values(one), **(uses.get(one.pid) or _use(one.pid))})
        events = (
            *self._newcomers(live),
            *self._identities(working),
            *self._waits.see(time.monotonic(), watched, live),
        )
        for event in events:
            self._told[event.what] += 1
            if self._told[event.what] <= MOST_OF_A_KIND:
                yield event

    def _sum(
        self,
        members: Mapping[int, ProcessStat],
        live: Sequence[ProcessStat],
        uses: Mapping[int, Mapping[str, int]],
    ) -> Sample:
        values: dict[str, float] = {
            "processes": len(live),
            "threads": sum(one.threads for one in live),
            "uninterruptible": sum(one.state == "D" for one in live),
            "rss_bytes": sum(one.rss_bytes for one in live),
        }
        used_s = sum(one.cpu_s + one.reaped_cpu_s for one in members.values())
        values["cpu_seconds_total"] = round_counter_s(self._sums["cpu"].see(used_s))
        seen = list(uses.values())
        if any("fds" in use for use in seen):
            values["fds"] = sum(use.get("fds", 0) for use in seen)
            shares = [100 * use.get("fds", 0) / (use.get("fds_limit") or 1 << 30) for use in seen]
            values["fds_used_percent"] = round(max(shares), 2)
        for name in ("read_bytes_total", "written_bytes_total"):
            if name in self._sums or any(name in use for use in seen):
                present = sum(use.get(name, 0) for use in seen)
                values[name] = int(self._sums[name].see(present))
        return Sample("host:tree", values)

    def _newcomers(self, live: Iterable[ProcessStat]) -> Iterator[SourceEvent]:
        there = {(one.pid, one.start_ticks): one.name for one in live}
        lasted = self._fresh & there.keys()
        self._fresh = there.keys() - self._listed - lasted
        self._listed = (self._listed & there.keys()) | lasted
        self._numbers += len(lasted)
        by_name: dict[str, list[int]] = defaultdict(list)
        for pid, born in sorted(lasted):
            by_name[there[pid, born]].append(pid)
        if lasted and self._numbers <= MOST_LISTED:
            text = ", ".join(f"{len(pids)} {name}" for name, pids in by_name.items())
            yield SourceEvent("processes_seen", "host:tree", text, {"pids": by_name})

    def _identities(self, working: Mapping[str, ProcessStat]) -> Iterator[SourceEvent]:
        for name, one in working.items():
            key = (name, (one.pid, one.start_ticks))
            if key not in self._identified and len(self._identified) < MOST_LISTED:
                self._identified.add(key)
                yield SourceEvent(
                    "rank_process", name, f"{name} is process {one.pid}", identity(one)
                )


SOURCE: type[Source] = Processes


def _values(one: ProcessStat) -> dict[str, float]:
    return {
        "cpu_seconds_total": round_counter_s(one.cpu_s),
        "rss_bytes": one.rss_bytes,
        "threads": one.threads,
        "uninterruptible": int(one.state == "D"),
        "stopped": int(one.state in "Tt"),
    }


def _use(pid: int) -> dict[str, int]:
    """What other files tell of a process; without what is not for us, or gone."""
    status = parse_numbers(read(f"/proc/{pid}/status"))
    disk = parse_numbers(read(f"/proc/{pid}/io"))
    found = {
        "fds": _descriptors(pid),
        "fds_limit": _descriptors_limit(pid),
        "read_bytes_total": disk.get("read_bytes"),
        "written_bytes_total": disk.get("write_bytes"),
        "voluntary_switches_total": status.get("voluntary_ctxt_switches"),
        "involuntary_switches_total": status.get("nonvoluntary_ctxt_switches"),
    }
    return {name: value for name, value in found.items() if value is not None}


def _descriptors(pid: int) -> int | None:
    """How many it has open: Linux 6.2 and newer count them, elsewhere we do."""
    folder = f"/proc/{pid}/fd"
    try:
        return os.stat(folder).st_size or len(os.listdir(folder))
    except OSError:
        return None


def _descriptors_limit(pid: int) -> int | None:
    for line in read(f"/proc/{pid}/limits").splitlines():
        if line.startswith(b"Max open files"):
            soft = line.split()[3]
            return int(soft) if soft.isdigit() else None
    return None
