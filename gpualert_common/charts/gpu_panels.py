"""Panels of the GPUs of a run: activity, memory, clock, temperature, power."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpualert_common.charts.bands import merge_lines
from gpualert_common.charts.line_thinning import Window, make_line
from gpualert_common.charts.sample_rows import list_rows
from gpualert_common.charts.timeline import ChartLine, LineKind, Panel
from gpualert_common.diagnose.thresholds import GPU_USED_MIB
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.structs import Struct
from gpualert_common.telemetry.series import Telemetry

MOST_NAME = 24
"""Characters of the name of a line."""


class _Quantity(Struct, frozen=True):
    """A number of each GPU: its column, the divisor of its unit, and the column of its limit."""

    column: str
    title: str
    unit: str
    divisor: float = 1.0
    limit: str = ""
    top: float | None = None
    is_floating: bool = False


_ACTIVITY = (
    _Quantity("sm_activity_percent", "GPU activity", "% of multiprocessors", top=100.0),
    _Quantity("utilization_percent", "GPU utilization", "% of time", top=100.0),
)
"""Only the first one that the GPUs have is shown: utilization counts any kernel, however small."""
_OTHERS = (
    _Quantity("memory_used_bytes", "GPU memory", "GiB", 2.0**30, "memory_total_bytes"),
    _Quantity("sm_clock_mhz", "GPU clock", "MHz", limit="sm_clock_max_mhz"),
    _Quantity("temperature_celsius", "GPU temperature", "°C", is_floating=True),
    _Quantity("power_watts", "GPU power", "W", limit="power_limit_watts"),
)


def list_gpu_panels(
    telemetry: Telemetry, pid: int | None, window: Window, sanitizer: TextSanitizer
) -> Iterator[Panel]:
    """Yield the panels of the GPUs that the run used; *pid* is the process of its leader."""
    gpus = _find_gpus(telemetry, pid)
    activity = (_make_panel(telemetry, gpus, one, window, sanitizer) for one in _ACTIVITY)
    yield from [panel for panel in activity if panel is not None][:1]
    for quantity in _OTHERS:
        panel = _make_panel(telemetry, gpus, quantity, window, sanitizer)
        if panel is not None:
            yield panel


def name_entity(of: str, sanitizer: TextSanitizer) -> str:
    """Return the name of an entity for people: "GPU 0" of "gpu:0", "rank 3" of "rank:3"."""
    kind, _, number = of.partition(":")
    words = "GPU" if kind == "gpu" else kind
    return sanitizer.line(f"{words} {number}" if number else words, MOST_NAME)


def make_limit(value: float, window: Window) -> ChartLine:
    """Return a limit that is the same all the time."""
    ends = (window.began_at, window.ended_at)
    return ChartLine("limit", ends, (value, value), kind=LineKind.LIMIT)


def _find_gpus(telemetry: Telemetry, pid: int | None) -> list[str]:
    """Return the GPUs on which processes of the run held memory; else those with memory in use.

    In most containers NVML shows no process.
    """
    listed = telemetry.list_entities("gpu")
    every = [of for of in listed if "/" not in of]
    pids = _list_pids(telemetry, pid)
    owned = {of.partition("/")[0] for of in listed if of.partition("/pid:")[2] in pids}
    least = GPU_USED_MIB * 2**20
    used = [of for of in every if telemetry.series(of, "memory_used_bytes").peak >= least]
    return [of for of in every if of in owned] or used or every


def _list_pids(telemetry: Telemetry, pid: int | None) -> set[str]:
    found = set() if pid is None else {str(pid)}
    for event in telemetry.find_events("processes_seen"):
        pids = event.fields.get("pids")
        for some in pids.values() if isinstance(pids, dict) else ():
            found.update(map(str, some if isinstance(some, list) else ()))
    return found


def _make_panel(
    telemetry: Telemetry,
    gpus: Sequence[str],
    quantity: _Quantity,
    window: Window,
    sanitizer: TextSanitizer,
) -> Panel | None:
    """Return the panel of one number; None if no GPU has it."""
    made = (
        make_line(
            name_entity(of, sanitizer),
            list_rows(telemetry.series(of, quantity.column), window, quantity.divisor),
            window,
        )
        for of in gpus
    )
    lines = [line for line in made if line is not None]
    if not lines:
        return None
    merged = [*merge_lines(lines, "GPUs", window)]
    limits = {telemetry.series(of, quantity.limit).peak for of in gpus} - {0.0}
    if len(limits) == 1:
        merged.append(make_limit(limits.pop() / quantity.divisor, window))
    return Panel(
        quantity.title,
        quantity.unit,
        tuple(merged),
        is_floating=quantity.is_floating,
        top=quantity.top,
    )
