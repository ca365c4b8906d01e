"""Tests of the source ``nvml`` with older drivers, older GPUs and users with fewer rights."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.telemetry.conftest import Player
from tests.telemetry.standin import (
    ALL_LINKS,
    FUNCTION_NOT_FOUND,
    NO_PERMISSION,
    NOT_SUPPORTED,
    Fails,
    Key,
    Process,
    gpu,
)

pytestmark = pytest.mark.standin


NEW = (
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetTemperatureV",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetFieldValues",
    "nvmlGpmQueryDeviceSupport",
    "nvmlGpmSampleAlloc",
)
OLD = replace(
    gpu(),
    reasons=4,
    temperature=66,
    processes=(Process(7, 3e9),),
    old={
        "corrected": 11,
        "uncorrected": 12,
        "remapped0": 13,
        "remapped1": 14,
        "remapped2": 1,
        "remapped3": 0,
        "replays": 15,
        "power": 16,
        "thermal": 17,
    },
)


@pytest.mark.parametrize("lacks", ["symbols", "answers"])
def test_older_functions_of_an_old_driver(play: Player, lacks: str) -> None:
    """If newer functions are missing or not implemented, the older ones give the same values."""
    missing = tuple(Fails(name, FUNCTION_NOT_FOUND) for name in NEW)
    watching = play(OLD, hidden=NEW) if lacks == "symbols" else play(OLD, trouble=missing)
    samples = watching.sample().samples
    assert samples["gpu:0/pid:7"] == {"memory_used_bytes": 3e9}
    assert (
        samples["gpu:0"].items()
        >= {
            "memory_used_bytes": 1_100_000_000,  # reserved memory counted as used then
            "clock_event_reasons_mask": 4,
            "temperature_celsius": 66,
            "compute_processes": 1,
            "ecc_corrected_total": 11,
            "ecc_uncorrected_total": 12,
            "remapped_rows_corrected_total": 13,
            "remapped_rows_uncorrected_total": 14,
            "remapped_rows_pending": 1,
            "remapped_rows_failed": 0,
            "pcie_replays_total": 15,
            "throttled_power_ns_total": 16,
            "throttled_thermal_ns_total": 17,
        }.items()
    )
    gone = watching.facts["gpus"][0]["lacks"]
    assert gone["activity"] == gone["recovery_action"] == "Function Not Found"


@pytest.mark.parametrize("code", [NOT_SUPPORTED, NO_PERMISSION, FUNCTION_NOT_FOUND])
def test_a_missing_value_is_requested_once(play: Player, tmp_path: Path, code: int) -> None:
    """A value that driver or GPU lack is listed in the facts and requested only once."""
    calls = tmp_path / "calls"
    trouble = (Fails("nvmlDeviceGetPowerUsage", code), Fails("nvmlGpmSampleGet", code, gpu=1))
    watching = play(gpu(), gpu(1), trouble=trouble, calls=calls)
    for _ in range(3):
        output = watching.sample()
        assert "power_watts" not in output.samples["gpu:0"]
        assert output.samples["gpu:0"]["power_limit_watts"] == 700
        assert output.events == []
    one, other = watching.facts["gpus"]
    assert "power_watts" in one["lacks"]
    assert "activity" not in one["lacks"]
    assert "activity" in other["lacks"]
    called = Counter(calls.read_text().splitlines())
    assert called["nvmlDeviceGetPowerUsage 0"] == called["nvmlGpmSampleGet 1"] == 1
    assert called["nvmlDeviceGetEnforcedPowerLimit 0"] == 4


def test_an_older_binding(play: Player) -> None:
    """Values for which the installed nvidia-ml-py has no function are left out."""
    before = "import pynvml; del pynvml.nvmlDeviceGetTemperatureV, pynvml.nvmlGpmQueryDeviceSupport"
    watching = play(gpu(), before=before)
    assert watching.sample().samples["gpu:0"]["temperature_celsius"] == 35
    assert "nvmlGpmQueryDeviceSupport" in watching.facts["gpus"][0]["lacks"]["activity"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({269: 5, 270: 6, 271: 7, 251: 1, 252: 1, 253: 1}, (5, 6, 7), id="since 580"),
        pytest.param({251: 5, 252: 6, 253: 7, 269: 1, 270: 1, 271: 1}, (5, 6, 7), id="575"),
        pytest.param({251: 1, 252: 1, 253: 1}, (None, None, None), id="570"),
    ],
)
def test_field_numbers_that_drivers_used_twice(
    play: Player, fields: dict[Any, float], expected: tuple[int | None, ...]
) -> None:
    """Settings of power smoothing are not read as the counters that had their numbers."""
    settings = {number for number, value in fields.items() if value == 1}
    values = (
        play(replace(gpu(), fields=fields, types=dict.fromkeys(settings, 1)))
        .sample()
        .samples["gpu:0"]
    )
    kinds = ("sw_thermal", "hw_thermal", "hw_power_brake")
    assert tuple(values.get(f"throttled_{kind}_ns_total") for kind in kinds) == expected


def test_links_are_added_up(play: Player) -> None:
    """The errors of a GPU that counts them by NVLink, such as Hopper, are added up."""
    fields: dict[Key, float] = {91: 3, 161: 1, (161, 1): 10, (161, 2): 100}
    one = replace(gpu(), fields=fields | {(162, 2): 5})
    watching = play(one, replace(gpu(1), fields={91: 2, (215, ALL_LINKS): 9}))
    samples = watching.sample().samples
    assert samples["gpu:0"]["nvlink_replays_total"] == 111
    assert samples["gpu:0"]["nvlink_recoveries_total"] == 5
    assert samples["gpu:1"]["nvlink_recoveries_total"] == 9
    assert "nvlink_crc_errors_total" not in samples["gpu:0"]


def test_fields_are_read_one_by_one(play: Player) -> None:
    """If a driver refuses several fields in one call, each is requested alone."""
    watching = play(gpu(), trouble=(Fails("fields", 2),))
    assert watching.sample().samples["gpu:0"]["memory_temperature_celsius"] == 40
    assert set(watching.facts["gpus"][0]["lacks"]) == {
        "retired_pages_corrected_total",
        "retired_pages_uncorrected_total",
        "retired_pages_pending",
    }
