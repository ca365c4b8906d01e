"""Processes of the run: resource usage, whether they work or wait, and their identity.

Read from /proc.  Only the same user and root see the file descriptors, disk bytes and wait places
of a process; other users see the rest.
"""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpualert_common.processes.process_ends import ProcessEnd, ProcessEnds
from gpualert_common.processes.procfs import ProcessStat, parse_numbers, read
from gpualert_common.processes.ranks import (
    RankProcesses,
    find_leader_worker,
    read_identity,
)
from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.signal_names import signal_name
from gpualert_common.telemetry.cgroups import read_location
from gpualert_common.telemetry.idle_processes import IdleProcesses
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    SourceUnavailableError,
    round_counter_s,
)

MOST_IN_DETAIL = 256
"""Processes whose descriptors and bytes are read; of the others only one file is read."""
MOST_OF_A_KIND = 200
MOST_LISTED = 10_000
"""Process numbers that are recorded in a run."""

_Identity = tuple[int, int]


class ProcessCounter:
    """A sum over processes that come and go, as a counter.

    The usage of an ended process stays in the sum, unless its parent counts it.
    """

    def __init__(self) -> None:
        self._ended = 0.0
        self._last = 0.0

    def update(self, present: float) -> float:
        """Return the counter, from the sum over the present processes."""
        self._ended = max(self._ended, self._last - present)
        self._last = self._ended + present
        return self._last


class Processes(Source):
    """The run's processes: all together, and the working processes one by one.

    Numbers, of "host:tree": ``processes``, ``threads``, ``uninterruptible`` (in state D),
    ``rss_bytes`` (shared memory counts for each process), ``cpu_seconds_total``, and of the first
    256 processes ``fds``, ``fds_used_percent`` (of the process nearest to its limit),
    ``read_bytes_total`` and ``written_bytes_total`` (of disks).  Of each "rank:0", up to 64, and of
    "leader", or the program that it runs if it is a shell: ``cpu_seconds_total``, ``rss_bytes``,
    ``threads``, ``uninterruptible`` and ``stopped`` (0 or 1), ``fds``, ``fds_limit``,
    ``read_bytes_total``, ``written_bytes_total``, and of its main thread
    ``voluntary_switches_total`` and ``involuntary_switches_total``.

    Events: ``processes_seen``, the numbers of new processes that lasted for two samples, by name.
    ``rank_process``, the identity of a rank or of the leader's program: pid, ranks, visible GPUs,
    container, pod, Slurm job.  ``rank_ended`` at the end of a rank, with its exit status ``code``
    (-n for signal n), where that is visible.  ``process_idle`` when one of them used less than 5 %
    of a core for a minute, with its state and the place where it waits, and ``process_busy`` when
    it works again.  ``process_blocked`` when a process was in state D in each sample for a minute.
    """

    decides = (
        "hangs, by idle, blocked and stopped ranks; supports kills for memory, rendezvous, stalled "
        "collectives, unused GPUs and stragglers, by memory, descriptors and processor time of "
        "each rank"
    )

    def __init__(self, run: ObservedRun | None) -> None:
        if not os.path.isdir("/proc/self"):
            raise SourceUnavailableError("/proc is not mounted", "mount it")
        self._leader = os.getpid() if run is None else run.pid
        self._tree = SampledTree(self._leader, "" if run is None else run.marker)
        self._ranks = RankProcesses()
        self._ends = ProcessEnds()
        self._idle = IdleProcesses()
        self._sums: dict[str, ProcessCounter] = defaultdict(ProcessCounter)
        self._unconfirmed: set[_Identity] = set()
        self._listed: set[_Identity] = set()
        self._numbers = 0
        self._identified: set[tuple[str, _Identity]] = set()
        self._event_counts: Counter[str] = Counter()

    def include(self, one: ProcessStat) -> None:
        """Count a process as one of the run, with all that it starts from now on."""
        self._tree.include(one)

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """Yield the present processes."""
        members = self._tree.members()
        live = [one for one in members.values() if one.is_live]
        working = self._ranks.find_workers(members)
        watched = dict(working)
        self._ends.watch(working)
        leader = find_leader_worker(self._leader, members)
        if leader is not None:
            working["leader"] = leader
            if not watched:  # with ranks, the leader only waits for them
                watched["leader"] = leader
        usages = {one.pid: _read_usage(one.pid) for one in live[:MOST_IN_DETAIL]}
        yield self._make_total(members, live, usages)
        for name, one in working.items():
            yield Sample(
                name, {**_make_values(one), **(usages.get(one.pid) or _read_usage(one.pid))}
            )
        events = (
            *self._report_new(live),
            *self._report_identities(working),
            *map(_make_end_event, self._ends.take()),
            *self._idle.update(time.monotonic(), watched, live),
        )
        for event in events:
            self._event_counts[event.what] += 1
            if self._event_counts[event.what] <= MOST_OF_A_KIND:
                yield event

    def close(self) -> None:
        """End the wait for the ends of ranks."""
        self._ends.close()

    def _make_total(
        self,
        members: Mapping[int, ProcessStat],
        live: Sequence[ProcessStat],
        usages: Mapping[int, Mapping[str, int]],
    ) -> Sample:
        values: dict[str, float] = {
            "processes": len(live),
            "threads": sum(one.threads for one in live),
            "uninterruptible": sum(one.state == "D" for one in live),
            "rss_bytes": sum(one.rss_bytes for one in live),
        }
        used_s = sum(one.cpu_s + one.reaped_cpu_s for one in members.values())
        values["cpu_seconds_total"] = round_counter_s(self._sums["cpu"].update(used_s))
        known = list(usages.values())
        if any("fds" in usage for usage in known):
            values["fds"] = sum(usage.get("fds", 0) for usage in known)
            shares = [
                100 * usage.get("fds", 0) / (usage.get("fds_limit") or 1 << 30) for usage in known
            ]
            values["fds_used_percent"] = round(max(shares), 2)
        for name in ("read_bytes_total", "written_bytes_total"):
            if name in self._sums or any(name in usage for usage in known):
                present = sum(usage.get(name, 0) for usage in known)
                values[name] = int(self._sums[name].update(present))
        return Sample("host:tree", values)

    def _report_new(self, live: Iterable[ProcessStat]) -> Iterator[SourceEvent]:
        present = {(one.pid, one.start_ticks): one.name for one in live}
        lasted = self._unconfirmed & present.keys()
        self._unconfirmed = present.keys() - self._listed - lasted
        self._listed = (self._listed & present.keys()) | lasted
        self._numbers += len(lasted)
        by_name: dict[str, list[int]] = defaultdict(list)
        for pid, born in sorted(lasted):
            by_name[present[pid, born]].append(pid)
        if lasted and self._numbers <= MOST_LISTED:
            text = ", ".join(f"{len(pids)} {name}" for name, pids in by_name.items())
            yield SourceEvent("processes_seen", "host:tree", text, {"pids": by_name})

    def _report_identities(self, working: Mapping[str, ProcessStat]) -> Iterator[SourceEvent]:
        for name, one in working.items():
            key = (name, (one.pid, one.start_ticks))
            if key not in self._identified and len(self._identified) < MOST_LISTED:
                self._identified.add(key)
                identity = {**read_identity(one), **read_location(one.pid)}
                yield SourceEvent("rank_process", name, f"{name} is process {one.pid}", identity)


SOURCE: type[Source] = Processes


def _make_values(one: ProcessStat) -> dict[str, float]:
    return {
        "cpu_seconds_total": round_counter_s(one.cpu_s),
        "rss_bytes": one.rss_bytes,
        "threads": one.threads,
        "uninterruptible": int(one.state == "D"),
        "stopped": int(one.state in "Tt"),
    }


def _make_end_event(end: ProcessEnd) -> SourceEvent:
    code = {} if end.code is None else {"code": end.code}
    text = f"{end.name.replace(':', ' ')} (process {end.pid}) {_describe_end(end.code)}"
    return SourceEvent("rank_ended", end.name, text, {"pid": end.pid, **code}, end.at)


def _describe_end(code: int | None) -> str:
    if code is None:
        return "ended; its exit status could not be seen"
    if code < 0:
        return f"was killed by {signal_name(-code)}"
    return f"ended with exit status {code}"


def _read_usage(pid: int) -> dict[str, int]:
    """Return usage from further files of a process, without those that are unreadable or gone."""
    status = parse_numbers(read(f"/proc/{pid}/status"))
    disk = parse_numbers(read(f"/proc/{pid}/io"))
    found = {
        "fds": _count_descriptors(pid),
        "fds_limit": _read_descriptor_limit(pid),
        "read_bytes_total": disk.get("read_bytes"),
        "written_bytes_total": disk.get("write_bytes"),
        "voluntary_switches_total": status.get("voluntary_ctxt_switches"),
        "involuntary_switches_total": status.get("nonvoluntary_ctxt_switches"),
    }
    return {name: value for name, value in found.items() if value is not None}


def _count_descriptors(pid: int) -> int | None:
    """Return the number of open descriptors; Linux 6.2 and newer count them."""
    folder = f"/proc/{pid}/fd"
    try:
        return os.stat(folder).st_size or len(os.listdir(folder))
    except OSError:
        return None


def _read_descriptor_limit(pid: int) -> int | None:
    for line in read(f"/proc/{pid}/limits").splitlines():
        if line.startswith(b"Max open files"):
            soft = line.split()[3]
            return int(soft) if soft.isdigit() else None
    return None
