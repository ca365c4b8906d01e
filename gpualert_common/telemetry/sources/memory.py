"""The memory that is left, of the host and of the run's cgroups, where cached files count as free.

Files that everybody may read.  A cgroup is charged for the files that its processes read, so that a
training which streams its data always stands at the limit; the kernel gives these pages back before
it kills anybody, and shared memory, which it cannot, is none of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from gpualert_common.processes.procfs import parse_numbers, read
from gpualert_common.telemetry import cgroup_files
from gpualert_common.telemetry.cgroups import CgroupPath, groups_of
from gpualert_common.telemetry.source import ObservedRun, Sample, Source, SourceUnavailableError

MEMINFO = "/proc/meminfo"
_CACHED = {1: ("total_inactive_file", "total_active_file"), 2: ("inactive_file", "active_file")}


class MemoryLeft(Source):
    """How much is left until somebody is killed.

    Numbers, of "host": ``memory_available_bytes`` (what the kernel could give without swapping) and
    ``memory_total_bytes``; of "cgroup", where it or one above it has a limit:
    ``memory_left_bytes`` up to the limit that is nearest, and ``memory_left_of_bytes``, that limit.
    """

    decides = "supports A2, and warns before it, by the memory that is left"

    def __init__(self, subject: ObservedRun | None) -> None:
        if not read(MEMINFO):
            raise SourceUnavailableError(f"{MEMINFO} cannot be read", "mount /proc")
        groups = groups_of("self" if subject is None else subject.pid)
        self._group = groups.get("memory", groups.get(""))

    def sample(self) -> Iterable[Sample]:
        """What is left now."""
        host = parse_numbers(read(MEMINFO))
        if "MemAvailable" in host and "MemTotal" in host:
            names = {"memory_available_bytes": "MemAvailable", "memory_total_bytes": "MemTotal"}
            yield Sample("host", {name: host[line] * 1024 for name, line in names.items()})
        left = min(_left(self._group), default=None) if self._group is not None else None
        if left is not None:
            yield Sample("cgroup", {"memory_left_bytes": left[0], "memory_left_of_bytes": left[1]})


SOURCE: type[Source] = MemoryLeft


def _left(group: CgroupPath) -> Iterator[tuple[int, int]]:
    """Bytes left, and the limit, of each level that has one."""
    directories = {group.path_of(directory): directory for directory in group.levels}
    for level in cgroup_files.memory(group):
        if level.limit is None or level.used is None:
            continue
        stat = parse_numbers(read(os.path.join(directories[level.path], "memory.stat")))
        cached = sum(stat.get(name, 0) for name in _CACHED[group.version])
        yield max(0, level.limit - max(0, level.used - cached)), level.limit
