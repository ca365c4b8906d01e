"""Cgroups of the run's leader: limits, distance to them, and killed processes.

The limits of all ancestor groups apply, and the tightest one decides.  Reads version 2, version 1,
or both at once, from files that everybody may read.  A container shows only a part of the tree, so
a limit above that part is not visible.  The groups are those at the time when the source is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpualert_common.processes.procfs import read_stat
from gpualert_common.telemetry import cgroup_files
from gpualert_common.telemetry.cgroup_files import CgroupMemory
from gpualert_common.telemetry.cgroups import CgroupPath, find_cgroups
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    SourceUnavailableError,
)

_REMEDY = "mount /sys/fs/cgroup; read-only is enough"


class Cgroup(Source):
    """Memory, processor time and processes of the leader's cgroup and its ancestors.

    Numbers, of "cgroup": ``memory_bytes``, ``memory_peak_bytes`` and ``swap_bytes`` of its own
    group; ``memory_limit_bytes`` and ``memory_high_bytes`` (the smallest of all levels),
    ``memory_room_bytes`` (up to the limit that is reached first), ``memory_limit_hits_total``,
    ``memory_throttled_total``, ``oom_kills_total``; ``cpu_limit_cores``, ``cpu_seconds_total``,
    ``cpu_throttled_periods_total``, ``cpu_throttled_seconds_total``; ``pids``, ``pids_limit``,
    ``pids_refused_total``.

    Events: ``cgroup_oom_kill`` when a group's count of kills rises.  ``own`` is True for the
    leader's group; in version 2 the count of an ancestor includes kills in all groups below it,
    also outside the run.  ``limit_path`` names the group whose limit was ``reached``: "meanwhile"
    (since the last sample) or "once" (at any time).  ``pids_refused`` when the creation of a
    process or thread fails at a limit.
    """

    decides = (
        "kills for memory, by processes killed in the cgroup and the limit that was reached; "
        "supports slow settings, by throttled processors"
    )

    def __init__(self, run: ObservedRun | None) -> None:
        if run is not None and not _is_live(run.pid):
            raise SourceUnavailableError(
                "the run's leader has ended, and its cgroup cannot be read"
            )
        groups = find_cgroups("self" if run is None else run.pid)
        unified = groups.get("")
        self._groups: dict[str, CgroupPath] = {}
        for controller in ("memory", "cpu", "cpuacct", "pids"):
            group = groups.get(controller, unified)
            if group is not None:
                self._groups[controller] = group
        self._own = self._groups["memory"].path if "memory" in self._groups else ""
        self._memory = self._read_levels()
        values = self._read_values(self._memory)
        if not values:
            raise SourceUnavailableError("no cgroup with counters is visible", _REMEDY)
        self._refused = values.get("pids_refused_total", 0)
        self._first = self._memory

    @property
    def facts(self) -> Mapping[str, Any]:
        """Paths and versions by controller, memory limits by path, number of earlier kills."""
        return {
            "paths": {name: group.path for name, group in self._groups.items()},
            "versions": {name: group.version for name, group in self._groups.items()},
            "memory_limits_bytes": {
                level.path: level.limit for level in self._first if level.limit is not None
            },
            "oom_kills_before": self._first[0].kills if self._first else 0,
        }

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """Yield the present numbers, and an event for each count that rose."""
        before, levels = self._memory, self._read_levels()
        values = self._read_values(levels)
        if values:
            yield Sample("cgroup", values)
        yield from _find_kills(before, levels, self._own)
        paths = {level.path for level in levels}
        self._memory = levels + [level for level in before if level.path not in paths]
        refused = values.get("pids_refused_total", 0) - self._refused
        if refused > 0:
            self._refused += refused
            text = f"processes or threads refused at the limit of a cgroup: {refused:.0f}"
            yield SourceEvent("pids_refused", "cgroup", text, {"refused": refused})

    def _read_levels(self) -> list[CgroupMemory]:
        group = self._groups.get("memory")
        return cgroup_files.read_memory(group) if group else []

    def _read_values(self, levels: Sequence[CgroupMemory]) -> dict[str, float]:
        values: dict[str, float] = {}
        if levels and levels[0].path == self._own:  # it may vanish before its ancestors
            own = levels[0]
            numbers = {
                "memory_bytes": own.used,
                "memory_peak_bytes": own.peak,
                "swap_bytes": own.swap,
                "memory_limit_bytes": _find_minimum(level.limit for level in levels),
                "memory_high_bytes": _find_minimum(level.high for level in levels),
                "memory_room_bytes": _find_minimum(level.room for level in levels),
                "memory_limit_hits_total": sum(level.hits for level in levels),
                "memory_throttled_total": sum(level.throttled for level in levels),
                "oom_kills_total": own.kills,
            }
            values |= {name: value for name, value in numbers.items() if value is not None}
        for controller, read in (
            ("cpuacct", cgroup_files.read_cpu_time),
            ("cpu", cgroup_files.read_cpu),
            ("pids", cgroup_files.read_pids),
        ):
            if controller in self._groups:
                values |= read(self._groups[controller])
        return values


SOURCE: type[Source] = Cgroup


def _is_live(pid: int) -> bool:
    found = read_stat(pid)
    return found is not None and found.is_live


def _find_minimum(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _find_kills(
    before: Sequence[CgroupMemory], levels: Sequence[CgroupMemory], own: str
) -> Iterator[SourceEvent]:
    """Yield the kills of each level that are not already reported for a level below it."""
    earlier = {level.path: level for level in before}
    reported = 0
    for level in levels:
        kills = level.kills - earlier[level.path].kills if level.path in earlier else 0
        if kills > reported:
            fields = {"path": level.path, "kills": kills - reported, "own": level.path == own}
            yield _make_kill_event({**fields, **_find_limit(earlier, levels)})
            reported = kills


def _find_limit(
    earlier: Mapping[str, CgroupMemory], levels: Sequence[CgroupMemory]
) -> dict[str, Any]:
    """Return the limit reached since the last sample, else one reached earlier, as fields."""
    limited = [level for level in levels if level.limit is not None and level.path in earlier]
    for level in sorted(limited, key=lambda one: earlier[one.path].hits - one.hits):
        if level.hits > earlier[level.path].hits:
            return {"limit_path": level.path, "limit_bytes": level.limit, "reached": "meanwhile"}
    for level in limited:
        if level.is_reached:
            return {"limit_path": level.path, "limit_bytes": level.limit, "reached": "once"}
    return {}


def _make_kill_event(fields: dict[str, Any]) -> SourceEvent:
    why = "no limit of a cgroup was reached"
    if "limit_path" in fields:
        limit = f"{fields['limit_path']} ({fields['limit_bytes'] / 2**20:.0f} MiB)"
        why = f"the limit of {limit} was reached {fields['reached']}"
    where = f"{'in' if fields['own'] else 'below'} cgroup {fields['path']}"
    text = f"processes killed for lack of memory {where}: {fields['kills']}; {why}"
    return SourceEvent("cgroup_oom_kill", "cgroup", text, fields)
