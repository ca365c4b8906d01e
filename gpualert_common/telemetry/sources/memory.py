"""Memory available to the host and to the run's cgroups, where cached files count as free.

Reads files that everybody may read.  The files that processes read are charged to their cgroup, so
a training that streams its data is always at the limit.  The kernel frees these pages before it
kills a process.  It cannot free shared memory, which is therefore not counted as cached.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from gpualert_common.processes.procfs import parse_numbers, read
from gpualert_common.telemetry import cgroup_files
from gpualert_common.telemetry.cgroups import CgroupPath, find_cgroups
from gpualert_common.telemetry.source import ObservedRun, Sample, Source, SourceUnavailableError

MEMINFO = "/proc/meminfo"
_CACHE_COUNTERS = {
    1: ("total_inactive_file", "total_active_file"),
    2: ("inactive_file", "active_file"),
}


class MemoryLeft(Source):
    """Memory left before the kernel kills a process.

    Numbers, of "host": ``memory_available_bytes`` (available without swapping) and
    ``memory_total_bytes``; of "cgroup", if it or an ancestor has a limit: ``memory_left_bytes`` up
    to the nearest limit, and ``memory_left_of_bytes``, that limit.
    """

    decides = "supports kills for memory, and warns before them, by the available memory"

    def __init__(self, run: ObservedRun | None) -> None:
        if not read(MEMINFO):
            raise SourceUnavailableError(f"{MEMINFO} cannot be read", "mount /proc")
        groups = find_cgroups("self" if run is None else run.pid)
        self._group = groups.get("memory", groups.get(""))

    def sample(self) -> Iterable[Sample]:
        """Yield the memory that is left now."""
        host = parse_numbers(read(MEMINFO))
        if "MemAvailable" in host and "MemTotal" in host:
            names = {"memory_available_bytes": "MemAvailable", "memory_total_bytes": "MemTotal"}
            yield Sample("host", {name: host[line] * 1024 for name, line in names.items()})
        available = (
            min(_read_available(self._group), default=None) if self._group is not None else None
        )
        if available is not None:
            yield Sample(
                "cgroup", {"memory_left_bytes": available[0], "memory_left_of_bytes": available[1]}
            )


SOURCE: type[Source] = MemoryLeft


def _read_available(group: CgroupPath) -> Iterator[tuple[int, int]]:
    """Yield the available bytes and the limit of each level that has one."""
    directories = {group.get_path(directory): directory for directory in group.levels}
    for level in cgroup_files.read_memory(group):
        if level.limit is None or level.used is None:
            continue
        stat = parse_numbers(read(os.path.join(directories[level.path], "memory.stat")))
        cached = sum(stat.get(name, 0) for name in _CACHE_COUNTERS[group.version])
        yield max(0, level.limit - max(0, level.used - cached)), level.limit
