"""GPUs of the machine: model, memory, activity, clocks, heat and errors during the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpualert_common.pages.reported_run import ReportedRun
from gpualert_common.pages.sections._interface import Room, Section
from gpualert_common.pages.series_figures import mean_over_time
from gpualert_common.report.formatting import duration
from gpualert_common.structs import Struct
from gpualert_common.telemetry.series import Series

_MOST_GPUS = 128
_THROTTLING = {
    "throttled_power_ns_total": "power limit",
    "throttled_thermal_ns_total": "heat",
    "throttled_sw_thermal_ns_total": "heat (driver)",
    "throttled_hw_thermal_ns_total": "heat (hardware)",
    "throttled_hw_power_brake_ns_total": "power brake",
}
_ERRORS = {
    "ecc_uncorrected_total": "uncorrected ECC",
    "ecc_corrected_total": "corrected ECC",
    "remapped_rows_uncorrected_total": "remapped rows",
    "pcie_replays_total": "PCIe replays",
    "nvlink_replays_total": "NVLink replays",
}
_EVENTS = ("gpu_lost", "reset_required", "not_answering", "gpu_unavailable", "poison_fatal")
_LEAST_THROTTLED_S = 1.0
_NS = 1e9
_GIB = 1 << 30


class GpuRow(Struct, frozen=True):
    """One GPU.  Numbers as text, "" where they were not measured."""

    number: str
    model: str
    memory: str
    activity: str
    clock: str
    temperature: str
    power: str
    throttled: str
    errors: str


class GpuTable(Struct, frozen=True):
    """Rows by number; the others are only counted.

    ``model`` is that of all, "" where they differ; ``driver`` names driver and CUDA version.
    """

    model: str
    driver: str
    rows: tuple[GpuRow, ...]
    left_out: int


def _collect(run: ReportedRun, room: Room) -> GpuTable | None:
    telemetry = run.telemetry
    names = [of for of in telemetry.list_entities("gpu") if "/" not in of]
    source = telemetry.sources.get("nvml")
    facts = source.facts if source else {}
    models = _list_models(facts.get("gpus"))
    most = room.limit(_MOST_GPUS)
    rows = [_make_row(run, of, models) for of in names[:most]]
    versions = (("driver", "driver"), ("CUDA", "cuda_driver"))
    driver = ", ".join(f"{label} {facts[key]}" for label, key in versions if facts.get(key))
    if not rows:
        return None
    distinct = {row.model for row in rows}
    model = f"{len(names)} GPUs, {rows[0].model}" if len(distinct) == 1 and rows[0].model else ""
    return GpuTable(model, run.text.line(driver), tuple(rows), len(names) - len(rows))


def _list_models(gpus: object) -> dict[str, str]:
    """Return the models by entity."""
    if not isinstance(gpus, list):
        return {}
    known = [one for one in gpus if isinstance(one, Mapping)]
    return {f"gpu:{one.get('index')}": str(one.get("name") or "") for one in known}


def _make_row(run: ReportedRun, of: str, models: Mapping[str, str]) -> GpuRow:
    def series(name: str) -> Series:
        return run.telemetry.series(of, name)

    text = run.text
    used, total = series("memory_used_bytes"), series("memory_total_bytes")
    memory = f"{used.peak / _GIB:.1f}" if used else ""
    return GpuRow(
        number=text.line(of.partition(":")[2]),
        model=text.line(models.get(of, "")),
        memory=f"{memory} / {total.peak / _GIB:.1f} GiB" if memory and total else memory,
        activity=_format_mean(series("sm_activity_percent") or series("utilization_percent"), "%"),
        clock=_format_clock(series("sm_clock_mhz"), series("sm_clock_max_mhz")),
        temperature=_format_peak(series("temperature_celsius"), " °C"),
        power=_format_mean(series("power_watts"), " W"),
        throttled=", ".join(_list_throttling(series)),
        errors=text.line(", ".join(_list_errors(run, of, series))),
    )


def _format_mean(series: Series, unit: str) -> str:
    mean = mean_over_time(series)
    return "" if mean is None else f"{mean:.0f}{unit}"


def _format_peak(series: Series, unit: str) -> str:
    return f"{series.peak:.0f}{unit}" if series else ""


def _format_clock(clock: Series, highest: Series) -> str:
    mean = _format_mean(clock, "")
    return f"{mean} / {highest.peak:.0f} MHz" if mean and highest else mean and f"{mean} MHz"


def _list_throttling(series: object) -> Iterator[str]:
    assert callable(series)
    for name, words in _THROTTLING.items():
        seconds = series(name).rise / _NS
        if seconds >= _LEAST_THROTTLED_S:
            yield f"{words} {duration(seconds)}"


def _list_errors(run: ReportedRun, of: str, series: object) -> Iterator[str]:
    assert callable(series)
    events = [one for one in run.telemetry.events if one.of == of]
    xids = [str(one.fields.get("xid")) for one in events if one.what == "xid"]
    if xids:
        yield f"Xid {_join_distinct(xids)}"
    yield from dict.fromkeys(one.what.replace("_", " ") for one in events if one.what in _EVENTS)
    for name, words in _ERRORS.items():
        rise = series(name).rise
        if rise > 0:
            yield f"{rise:.0f} {words}"


def _join_distinct(words: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(words))


SECTION = Section("GPUs", order=50, most_bytes=40_000, collect=_collect)
