"""Panels of the machine of a run: memory, processors, disks, waiting tasks, output."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from gpualert_common.charts.bands import merge_lines
from gpualert_common.charts.gpu_panels import make_limit, name_entity
from gpualert_common.charts.line_thinning import MOST_POINTS, Window, make_line, thin_line
from gpualert_common.charts.sample_rows import list_rows, measure_rate, subtract_rows
from gpualert_common.charts.timeline import ChartLine, Panel
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.telemetry.series import Telemetry

_GIB = 2.0**30
_MIB = 2.0**20
_PROCESSES = "host:tree"
_OF_RUN = "processes of the run"
_LEAST_LENGTH_S = 5.0
"""A shorter run has no output over time: the index of its logs has a line for each second."""
_NOTABLE_PRESSURE = 10.0
"""Percent of the time; less is usual, and shows nothing."""
_NOTABLE_DISK_RATE = 1.0
"""MiB in a second; less are the logs and the checks of files."""
_WAITS = {
    "cpu_some_percent": "for processors",
    "memory_some_percent": "for memory",
    "io_some_percent": "for disks",
}

Arrivals = Sequence[tuple[float, int]]
"""Times, and sizes of a log at these times, ascending."""


def list_host_panels(
    telemetry: Telemetry, window: Window, sanitizer: TextSanitizer
) -> Iterator[Panel]:
    """Yield the panels of the machine for which there are numbers."""
    yield from _list_memory_panels(telemetry, window)
    yield from _list_processor_panels(telemetry, window, sanitizer)
    yield from _list_disk_panels(telemetry, window)
    yield from _list_pressure_panels(telemetry, window)


def list_output_panels(arrivals: Mapping[str, Arrivals], window: Window) -> Iterator[Panel]:
    """Yield the panel of the bytes by which each log grows in a second."""
    if window.ended_at - window.began_at < _LEAST_LENGTH_S:
        return
    lines = [_measure_output(name, sizes, window) for name, sizes in arrivals.items() if sizes]
    if not lines:
        return
    peak = max(one or 0.0 for line in lines for one in line.value)
    units = ((_MIB, "MiB/s"), (1024.0, "KiB/s"))
    divisor, unit = next((one for one in units if peak >= one[0]), (1.0, "bytes/s"))
    scaled = (
        ChartLine(line.name, line.at, tuple((one or 0.0) / divisor for one in line.value))
        for line in lines
    )
    yield Panel("Output", unit, tuple(scaled))


def _measure_output(name: str, arrivals: Arrivals, window: Window) -> ChartLine:
    """Return the bytes per second in each of at most :data:`MOST_POINTS` equal intervals."""
    length_s = max(window.ended_at - window.began_at, 1e-6)
    count = max(1, min(MOST_POINTS, math.ceil(length_s)))  # the index has a line for each second
    width = length_s / count
    grown = [0.0] * count
    before = 0
    for at, size in arrivals:
        place = int((window.clamp(at) - window.began_at) / width)
        grown[min(place, count - 1)] += max(0, size - before)
        before = size
    times = tuple(window.began_at + width * (index + 0.5) for index in range(count))
    return ChartLine(name, times, tuple(one / width for one in grown))


def _list_memory_panels(telemetry: Telemetry, window: Window) -> Iterator[Panel]:
    """Yield the memory in use, without cached files, with its limit, and that of the run."""
    of, columns = "cgroup", ("memory_left_bytes", "memory_left_of_bytes")
    name = "in use in its cgroup"
    if not telemetry.series(of, columns[0]):
        of, columns = "host", ("memory_available_bytes", "memory_total_bytes")
        name = "in use on the host"
    size = telemetry.series(of, columns[1]).last / _GIB
    free = list_rows(telemetry.series(of, columns[0]), window, _GIB)
    rss = list_rows(telemetry.series(_PROCESSES, "rss_bytes"), window, _GIB)
    made = (
        make_line(name, subtract_rows(size, free), window),
        make_line(_OF_RUN, rss, window),
    )
    lines = [thin_line(line) for line in made if line is not None]
    if lines:
        limits = [make_limit(size, window)] if math.isfinite(size) and size > 0 else []
        yield Panel("Host memory", "GiB", (*lines, *limits))


def _list_processor_panels(
    telemetry: Telemetry, window: Window, sanitizer: TextSanitizer
) -> Iterator[Panel]:
    """Yield the cores that are busy: of each rank, or of all processes."""
    ranks = telemetry.list_entities("rank")
    named = {of: name_entity(of, sanitizer) for of in ranks}
    named = named if len(named) > 1 else {_PROCESSES: _OF_RUN}
    made = (
        make_line(name, measure_rate(telemetry.series(of, "cpu_seconds_total"), window), window)
        for of, name in named.items()
    )
    lines = [line for line in made if line is not None]
    if lines:
        yield Panel("Processors", "cores", merge_lines(lines, "ranks", window))


def _list_disk_panels(telemetry: Telemetry, window: Window) -> Iterator[Panel]:
    """Yield the bytes that the processes read from disks and write to them."""
    named = {"read_bytes_total": "read", "written_bytes_total": "written"}
    rates = (
        (name, list(measure_rate(telemetry.series(_PROCESSES, column), window, _MIB)))
        for column, name in named.items()
    )
    made = (
        make_line(name, rows, window)
        for name, rows in rates
        if any(row[3] >= _NOTABLE_DISK_RATE for row in rows)
    )
    lines = tuple(thin_line(line) for line in made if line is not None)
    if lines:
        yield Panel("Disks", "MiB/s", lines)


def _list_pressure_panels(telemetry: Telemetry, window: Window) -> Iterator[Panel]:
    """Yield the share of the time in which tasks waited, if it is more than usual."""
    of = "cgroup" if telemetry.series("cgroup", "io_some_percent") else "host"
    made = (
        make_line(name, list_rows(telemetry.series(of, column), window), window)
        for column, name in _WAITS.items()
        if telemetry.series(of, column).peak >= _NOTABLE_PRESSURE
    )
    lines = tuple(thin_line(line) for line in made if line is not None)
    if lines:
        yield Panel("Waiting tasks", "% of time", lines, top=100.0)
