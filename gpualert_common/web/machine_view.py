"""The machine as a live run uses it: newest numbers and a short history of each."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict

from gpualert_common.record import Record
from gpualert_common.report.formatting import size
from gpualert_common.structs import Struct
from gpualert_common.telemetry.series import Series, Telemetry
from gpualert_common.web.sparks import draw_spark

HISTORY_S = 900.0
_MOST_GPUS = 16
_MOST_KEPT = 16
"""Runs whose telemetry is kept; of others it is read anew."""


class Gauge(Struct, frozen=True):
    """One number: its newest value in words, and the points of its history."""

    name: str
    value: str
    detail: str
    points: str


class Device(Struct, frozen=True):
    """A GPU, or the host, with its gauges."""

    name: str
    gauges: tuple[Gauge, ...]


class MachineView(Struct, frozen=True):
    """All devices of a run; ``age_s`` is the age of the newest sample, None without any."""

    devices: tuple[Device, ...] = ()
    left_out: int = 0
    age_s: float | None = None


class TelemetryCache:
    """Telemetry of the runs that people look at; only what is new is read again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[threading.Lock, Telemetry]] = OrderedDict()

    def view_machine(self, record: Record) -> MachineView:
        """Return the view of the machine by the telemetry of a record as it is now."""
        with self._lock:
            lock, telemetry = self._kept.setdefault(record.path, (threading.Lock(), Telemetry()))
            self._kept.move_to_end(record.path)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        with lock:
            telemetry.read(record)
            return view_machine(telemetry)


def view_machine(telemetry: Telemetry) -> MachineView:
    """Return the view of the machine by its telemetry."""
    gpus = [name for name in telemetry.list_entities("gpu") if "/" not in name]
    devices = [_view_gpu(telemetry, name) for name in gpus[:_MOST_GPUS]]
    devices.append(_view_host(telemetry))
    newest = [
        series.at[-1]
        for of in (*gpus, "host", "host:tree")
        for name in ("memory_used_bytes", "memory_available_bytes", "rss_bytes")
        if (series := telemetry.series(of, name))
    ]
    return MachineView(
        tuple(one for one in devices if one.gauges),
        max(0, len(gpus) - _MOST_GPUS),
        max(0.0, time.time() - max(newest)) if newest else None,
    )


def _view_gpu(telemetry: Telemetry, of: str) -> Device:
    activity = telemetry.series(of, "sm_activity_percent")
    name = "SM activity"
    if not activity:
        activity, name = telemetry.series(of, "utilization_percent"), "Activity"
    used = telemetry.series(of, "memory_used_bytes")
    total = telemetry.series(of, "memory_total_bytes").last
    heat = telemetry.series(of, "temperature_celsius")
    power = telemetry.series(of, "power_watts")
    gauges = [
        _gauge(name, activity, "{:.0f} %", low=0, high=100),
        _gauge("Memory", used, "", low=0, high=total or None, of_bytes=total),
        _gauge("Temperature", heat, "{:.0f} °C"),
        _gauge("Power", power, "{:.0f} W", low=0),
    ]
    number = of.partition(":")[2]
    return Device(f"GPU {number}", tuple(one for one in gauges if one is not None))


def _view_host(telemetry: Telemetry) -> Device:
    total = telemetry.series("host", "memory_total_bytes").last
    available = telemetry.series("host", "memory_available_bytes")
    used = Series(available.at, tuple(total - value for value in available.value))
    gauges = [
        _gauge("Memory of the run", telemetry.series("host:tree", "rss_bytes"), "", low=0),
        _gauge("Memory of the host", used, "", low=0, high=total or None, of_bytes=total),
    ]
    left = telemetry.series("cgroup", "memory_left_bytes")
    limit = telemetry.series("cgroup", "memory_left_of_bytes").last
    if left and limit:
        in_use = Series(left.at, tuple(limit - value for value in left.value))
        gauges.append(_gauge("Memory limit", in_use, "", low=0, high=limit, of_bytes=limit))
    return Device("Host", tuple(one for one in gauges if one is not None))


def _gauge(
    name: str,
    series: Series,
    form: str,
    *,
    low: float | None = None,
    high: float | None = None,
    of_bytes: float = 0.0,
) -> Gauge | None:
    """Return a gauge; None without a value.  Without a form the values are bytes."""
    if not series or not math.isfinite(series.last):
        return None
    values = [float(value) for value in series.value[_find_begin(series) :]]
    detail = f"of {size(round(of_bytes))}" if of_bytes else ""
    shown = form.format(series.last) if form else size(max(0, round(series.last)))
    return Gauge(name, shown, detail, draw_spark(values, low, high))


def _find_begin(series: Series) -> int:
    since = series.at[-1] - HISTORY_S
    return next((number for number, at in enumerate(series.at) if at >= since), 0)
