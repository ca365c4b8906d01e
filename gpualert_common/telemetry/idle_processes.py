"""Detection of processes that are idle or uninterruptible for a minute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from gpualert_common.processes.procfs import ProcessStat, read
from gpualert_common.telemetry.source import SourceEvent

WINDOW_S = 60.0
IDLE_BELOW_CORES = 0.05
"""DLRover uses the same share for a process that hangs.  A busy wait is not idle."""

_Identity = tuple[int, int]


class _Window(NamedTuple):
    began_at: float
    cpu_s: float
    is_idle: bool


class IdleProcesses:
    """Tracks the processor time of each process and reports changes."""

    def __init__(self) -> None:
        self._windows: dict[tuple[str, _Identity], _Window] = {}
        self._blocked: dict[_Identity, tuple[float, bool]] = {}

    def update(
        self, now: float, working: Mapping[str, ProcessStat], live: Iterable[ProcessStat]
    ) -> Iterator[SourceEvent]:
        """Yield the events of this sample; ``now`` is a monotonic time.

        ``working`` are the named processes that are expected to use processor time.
        """
        yield from self._update_idle(now, working)
        yield from self._update_blocked(now, live)

    def _update_idle(self, now: float, working: Mapping[str, ProcessStat]) -> Iterator[SourceEvent]:
        windows = {}
        for name, one in working.items():
            key = (name, (one.pid, one.start_ticks))
            window = self._windows.get(key, _Window(now, one.cpu_s, False))
            lasted_s, used_s = now - window.began_at, one.cpu_s - window.cpu_s
            if lasted_s >= WINDOW_S:
                is_idle = used_s < IDLE_BELOW_CORES * lasted_s
                if is_idle != window.is_idle:
                    yield _make_event(one, name, is_idle, used_s, lasted_s)
                window = _Window(now, one.cpu_s, is_idle)
            windows[key] = window
        self._windows = windows

    def _update_blocked(self, now: float, live: Iterable[ProcessStat]) -> Iterator[SourceEvent]:
        blocked = {}
        for one in live:
            if one.state == "D":
                key = (one.pid, one.start_ticks)
                since, is_reported = self._blocked.get(key, (now, False))
                if now - since >= WINDOW_S and not is_reported:
                    is_reported = True
                    fields = {**_read_wait(one), "seconds": round(now - since)}
                    text = (
                        f"process {one.pid} ({one.name}) has been in state D in every sample for "
                        f"{now - since:.0f} s: it waits in {fields['waits_in'] or 'the kernel'}"
                    )
                    yield SourceEvent("process_blocked", f"pid:{one.pid}", text, fields)
                blocked[key] = (since, is_reported)
        self._blocked = blocked


def _make_event(
    one: ProcessStat, name: str, is_idle: bool, used_s: float, lasted_s: float
) -> SourceEvent:
    fields = {**_read_wait(one), "used_seconds": round(used_s, 2), "seconds": round(lasted_s)}
    text = (
        f"{name}, process {one.pid} ({one.name}), used {used_s:.1f} s of a core in {lasted_s:.0f} s"
    )
    if is_idle:
        text += f"; state {one.state}, waits in {fields['waits_in'] or 'a hidden place'}"
    return SourceEvent("process_idle" if is_idle else "process_busy", name, text, fields)


def _read_wait(one: ProcessStat) -> dict[str, int | str]:
    """Return the state of a process and the place where its main thread waits ("" if hidden)."""
    place = read(f"/proc/{one.pid}/wchan").decode("utf-8", "replace")
    return {
        "pid": one.pid,
        "name": one.name,
        "state": one.state,
        "waits_in": "" if place == "0" else place,
    }
