"""Numbers from the files of a cgroup and its ancestors, for cgroup versions 1 and 2."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gpualert_common.processes.procfs import parse_numbers, read
from gpualert_common.structs import Struct
from gpualert_common.telemetry.cgroups import CgroupPath
from gpualert_common.telemetry.source import round_counter_s

_MINIMUM_UNLIMITED = 1 << 62
"""Version 1 writes "no limit" as a number that no machine reaches."""


class CgroupMemory(Struct, frozen=True):
    """Memory of one cgroup, in bytes; None where it has no such limit or the kernel does not report
    it.

    ``hits`` is how often its own limit was reached, ``throttled`` how often its ``high`` mark was.
    ``kills`` counts killed processes: in version 1 those of this cgroup, in version 2 also those of
    all cgroups below it.
    """

    path: str
    used: int | None
    peak: int | None
    swap: int | None
    limit: int | None
    high: int | None
    hits: int
    throttled: int
    kills: int

    @property
    def is_reached(self) -> bool:
        """True when its limit was reached at least once.  If the swap limit is equal, Linux 6.18
        counts no hits of either limit in version 1."""
        return self.limit is not None and self.peak is not None and self.peak >= self.limit

    @property
    def room(self) -> int | None:
        """Bytes up to the limit; None without a limit."""
        return None if self.limit is None or self.used is None else max(0, self.limit - self.used)


def read_memory(group: CgroupPath) -> list[CgroupMemory]:
    """Return the memory of the cgroup and its ancestors, without those that count no memory."""
    read_level = _read_memory_v1 if group.version == 1 else _read_memory_v2
    found = (read_level(directory, group.get_path(directory)) for directory in group.levels)
    return [level for level in found if level.used is not None]


def read_cpu(group: CgroupPath) -> dict[str, float]:
    """Return processor quota (the tightest level), throttling (the sum of all levels), and time
    used."""
    found: dict[str, float] = {}
    limits: list[float] = []
    periods, throttled_s = 0, 0.0
    for directory in group.levels:
        stat = parse_numbers(read(os.path.join(directory, "cpu.stat")))
        limits += _read_core_limits(directory)
        if "nr_throttled" in stat:
            periods += stat["nr_throttled"]
            throttled_s += stat.get("throttled_usec", 0) / 1e6 + stat.get("throttled_time", 0) / 1e9
            found["cpu_throttled_periods_total"] = periods
            found["cpu_throttled_seconds_total"] = round_counter_s(throttled_s)
        if "usage_usec" in stat:
            found.setdefault("cpu_seconds_total", round_counter_s(stat["usage_usec"] / 1e6))
    return {**found, "cpu_limit_cores": min(limits)} if limits else found


def read_cpu_time(group: CgroupPath) -> dict[str, float]:
    """Return the processor time used, from version 1; version 2 has it in ``cpu.stat``."""
    used_ns = _read_number(group.levels[0], "cpuacct.usage")
    return {} if used_ns is None else {"cpu_seconds_total": round_counter_s(used_ns / 1e9)}


def read_pids(group: CgroupPath) -> dict[str, float]:
    """Return the number of processes and threads, its limit, and the number refused."""
    found: dict[str, float] = {}
    for directory in group.levels:
        current = _read_number(directory, "pids.current")
        limit = _read_number(directory, "pids.max")
        refused = parse_numbers(read(os.path.join(directory, "pids.events"))).get("max")
        if current is not None:
            found.setdefault("pids", current)
        if limit is not None:
            found["pids_limit"] = min(limit, found.get("pids_limit", limit))
        if refused is not None:  # newer kernels also count it in all ancestors
            found["pids_refused_total"] = max(refused, found.get("pids_refused_total", 0))
    return found


def _read_memory_v1(directory: str, path: str) -> CgroupMemory:
    control = parse_numbers(read(os.path.join(directory, "memory.oom_control")))
    limit = _read_number(directory, "memory.limit_in_bytes")
    hits = (_read_number(directory, f"memory.{kind}failcnt") for kind in ("", "memsw."))
    return CgroupMemory(
        path=path,
        used=_read_number(directory, "memory.usage_in_bytes"),
        peak=_read_number(directory, "memory.max_usage_in_bytes"),
        swap=None,
        limit=None if limit is None or limit >= _MINIMUM_UNLIMITED else limit,
        high=None,
        hits=sum(count or 0 for count in hits),
        throttled=0,
        kills=control.get("oom_kill", 0),
    )


def _read_memory_v2(directory: str, path: str) -> CgroupMemory:
    events = parse_numbers(read(os.path.join(directory, "memory.events")))
    own = parse_numbers(read(os.path.join(directory, "memory.events.local"))) or events
    return CgroupMemory(
        path=path,
        used=_read_number(directory, "memory.current"),
        peak=_read_number(directory, "memory.peak"),
        swap=_read_number(directory, "memory.swap.current"),
        limit=_read_number(directory, "memory.max"),
        high=_read_number(directory, "memory.high"),
        hits=own.get("max", 0),
        throttled=own.get("high", 0),
        kills=events.get("oom_kill", 0),
    )


def _read_core_limits(directory: str) -> Iterator[float]:
    quota, _, period = read(os.path.join(directory, "cpu.max")).partition(b" ")
    if quota.isdigit():
        yield int(quota) / int(period)
    quota_us = _read_number(directory, "cpu.cfs_quota_us")  # -1 without one
    period_us = _read_number(directory, "cpu.cfs_period_us")
    if quota_us is not None and period_us:
        yield quota_us / period_us


def _read_number(directory: str, name: str) -> int | None:
    """Return the integer in a file; None for "max" and for a missing file."""
    text = read(os.path.join(directory, name)).strip()
    return int(text) if text.isdigit() else None
