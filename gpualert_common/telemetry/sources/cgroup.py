"""The cgroups of the run's leader: their limits, how near they are, and what they killed.

The limits of all groups above count too, and the tightest one bites.  Version 2, version 1, or both
at once; files that everybody may read.  A container shows only a part of the tree, so that a limit
further up is not seen.  The groups are those of the moment at which the source was opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpualert_common.processes.procfs import read_stat
from gpualert_common.telemetry import cgroup_files
from gpualert_common.telemetry.cgroup_files import CgroupMemory
from gpualert_common.telemetry.cgroups import CgroupPath, groups_of
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    SourceUnavailableError,
)

_REMEDY = "mount /sys/fs/cgroup, read-only will do"


class Cgroup(Source):
    """Memory, processor time and processes of the leader's cgroup and of those above it.

    Numbers, of "cgroup": ``memory_bytes``, ``memory_peak_bytes`` and ``swap_bytes`` of its own
    group; ``memory_limit_bytes`` and ``memory_high_bytes`` (the smallest on the way up),
    ``memory_room_bytes`` (up to the limit that bites first), ``memory_limit_hits_total``,
    ``memory_throttled_total``, ``oom_kills_total``; ``cpu_limit_cores``, ``cpu_seconds_total``,
    ``cpu_throttled_periods_total``, ``cpu_throttled_seconds_total``; ``pids``, ``pids_limit``,
    ``pids_refused_total``.

    Events: ``cgroup_oom_kill`` when a group's count of kills rose.  ``own`` is True for that of the
    leader; one above it counts in version 2 what was killed in any group below it, the run's or
    not.  ``limit_path`` names the group whose limit was ``reached`` "meanwhile", or "once", if one
    was.  ``pids_refused`` when a process or thread could not be made.
    """

    decides = (
        "A2 by processes that were killed in the cgroup, and whose limit was reached; "
        "supports D2 by throttled processors"
    )

    def __init__(self, subject: ObservedRun | None) -> None:
        if subject is not None and not _is_live(subject.pid):
            raise SourceUnavailableError(
                "the run's leader has ended, and with it what told its cgroup"
            )
        groups = groups_of("self" if subject is None else subject.pid)
        unified = groups.get("")
        self._groups: dict[str, CgroupPath] = {}
        for controller in ("memory", "cpu", "cpuacct", "pids"):
            group = groups.get(controller, unified)
            if group is not None:
                self._groups[controller] = group
        self._own = self._groups["memory"].path if "memory" in self._groups else ""
        self._memory = self._levels()
        values = self._values(self._memory)
        if not values:
            raise SourceUnavailableError("no cgroup that counts anything can be seen", _REMEDY)
        self._refused = values.get("pids_refused_total", 0)
        self._first = self._memory

    @property
    def facts(self) -> Mapping[str, Any]:
        """Paths and versions by controller, limits of memory by path, and kills until now."""
        return {
            "paths": {name: group.path for name, group in self._groups.items()},
            "versions": {name: group.version for name, group in self._groups.items()},
            "memory_limits_bytes": {
                level.path: level.limit for level in self._first if level.limit is not None
            },
            "oom_kills_before": self._first[0].kills if self._first else 0,
        }

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """Numbers of now, and what rose since the last look."""
        before, levels = self._memory, self._levels()
        values = self._values(levels)
        if values:
            yield Sample("cgroup", values)
        yield from _kills(before, levels, self._own)
        there = {level.path for level in levels}
        self._memory = levels + [level for level in before if level.path not in there]
        refused = values.get("pids_refused_total", 0) - self._refused
        if refused > 0:
            self._refused += refused
            text = f"processes or threads refused because a cgroup has its limit: {refused:.0f}"
            yield SourceEvent("pids_refused", "cgroup", text, {"refused": refused})

    def _levels(self) -> list[CgroupMemory]:
        group = self._groups.get("memory")
        return cgroup_files.memory(group) if group else []

    def _values(self, levels: Sequence[CgroupMemory]) -> dict[str, float]:
        values: dict[str, float] = {}
        if levels and levels[0].path == self._own:  # it may be gone before those above it
            own = levels[0]
            numbers = {
                "memory_bytes": own.used,
                "memory_peak_bytes": own.peak,
                "swap_bytes": own.swap,
                "memory_limit_bytes": _least(level.limit for level in levels),
                "memory_high_bytes": _least(level.high for level in levels),
                "memory_room_bytes": _least(level.room for level in levels),
                "memory_limit_hits_total": sum(level.hits for level in levels),
                "memory_throttled_total": sum(level.throttled for level in levels),
                "oom_kills_total": own.kills,
            }
            values |= {name: value for name, value in numbers.items() if value is not None}
        for controller, read in (
            ("cpuacct", cgroup_files.cpu_time),
            ("cpu", cgroup_files.cpu),
            ("pids", cgroup_files.pids),
        ):
            if controller in self._groups:
                values |= read(self._groups[controller])
        return values


SOURCE: type[Source] = Cgroup


def _is_live(pid: int) -> bool:
    found = read_stat(pid)
    return found is not None and found.is_live


def _least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _kills(
    before: Sequence[CgroupMemory], levels: Sequence[CgroupMemory], own: str
) -> Iterator[SourceEvent]:
    """The kills of each level that none below it has told already."""
    then = {level.path: level for level in before}
    told = 0
    for level in levels:
        kills = level.kills - then[level.path].kills if level.path in then else 0
        if kills > told:
            fields = {"path": level.path, "kills": kills - told, "own": level.path == own}
            yield _kill({**fields, **_limit_of(then, levels)})
            told = kills


def _limit_of(then: Mapping[str, CgroupMemory], levels: Sequence[CgroupMemory]) -> dict[str, Any]:
    """The limit that was reached since, or else one that was reached once, as fields."""
    limited = [level for level in levels if level.limit is not None and level.path in then]
    for level in sorted(limited, key=lambda one: then[one.path].hits - one.hits):
        if level.hits > then[level.path].hits:
            return {"limit_path": level.path, "limit_bytes": level.limit, "reached": "meanwhile"}
    for level in limited:
        if level.is_reached:
            return {"limit_path": level.path, "limit_bytes": level.limit, "reached": "once"}
    return {}


def _kill(fields: dict[str, Any]) -> SourceEvent:
    why = "no limit of a cgroup was reached"
    if "limit_path" in fields:
        limit = f"{fields['limit_path']} ({fields['limit_bytes'] / 2**20:.0f} MiB)"
        why = f"the limit of {limit} was reached {fields['reached']}"
    where = f"{'in' if fields['own'] else 'below'} cgroup {fields['path']}"
    text = f"processes killed for want of memory {where}: {fields['kills']}; {why}"
    return SourceEvent("cgroup_oom_kill", "cgroup", text, fields)
