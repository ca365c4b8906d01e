"""Tests of the source ``nvml`` through the real binding, with a stand-in or a real driver."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.supervised import until
from tests.telemetry.conftest import Player, Watcher
from tests.telemetry.standin import ALL_LINKS, Clock, Key, Mig, Process, gpu, line, steps

standin = pytest.mark.standin


# -- any machine with GPUs -----------------------------------------------------------------


def test_facts_describe_each_gpu(watch: Watcher, machine: Mapping[str, str]) -> None:
    """The facts have driver, versions, and for each GPU name, number, UUID, bus and memory."""
    facts = watch("nvml", machine).facts
    assert facts["driver"][0].isdigit()
    assert facts["cuda_driver"].replace(".", "").isdigit()
    assert facts["nvml"].endswith(facts["driver"])
    buses = [one["pci_bus_id"] for one in facts["gpus"]]
    assert buses == sorted(buses)
    for one in facts["gpus"]:
        assert one["uuid"].startswith("GPU-")
        assert one["name"]
        assert one["architecture"]
        assert one["memory_total_bytes"] > 0


def test_samples_are_numbers_in_their_units(watch: Watcher, machine: Mapping[str, str]) -> None:
    """Each GPU of the facts has a sample; shares are in range, and memory adds up."""
    watching = watch("nvml", machine)
    output = watching.sample()
    for one in watching.facts["gpus"]:
        values = output.samples[f"gpu:{one['index']}"]
        assert all(math.isfinite(value) for value in values.values())
        assert all(0 <= values[name] <= 100 for name in values if name.endswith("_percent"))
        memory = [values[f"memory_{part}_bytes"] for part in ("used", "free", "total")]
        assert 0 < memory[0] + memory[1] <= memory[2] == one["memory_total_bytes"]
        assert not set(values) & set(one["lacks"])


def test_counters_do_not_fall(watch: Watcher, machine: Mapping[str, str]) -> None:
    """No counter falls between two samples."""
    watching = watch("nvml", machine)
    first, second = watching.sample().samples, watching.sample().samples
    for of, values in first.items():
        for name in (name for name in values if name.endswith("_total")):
            assert second[of][name] >= values[name]


def test_activity_needs_two_samples(watch: Watcher, machine: Mapping[str, str]) -> None:
    """A GPU that supports it reports the mean activity since the last sample."""
    watching = watch("nvml", machine)
    waiting = {
        f"gpu:{one['index']}" for one in watching.facts["gpus"] if "activity" not in one["lacks"]
    }

    def all_reported() -> bool:
        waiting.difference_update(
            of
            for of, values in watching.sample().samples.items()
            if "sm_activity_percent" in values
        )
        return not waiting

    until(all_reported, "activity of every GPU", poll_s=0.1)


def test_two_watch_at_once(watch: Watcher, machine: Mapping[str, str]) -> None:
    """Two runs sample the same GPUs, and one closes without harm to the other."""
    one, other = watch("nvml", machine), watch("nvml", machine)
    one.sample()
    one.close()
    assert one.end() == 0
    assert len(other.sample().samples) >= len(other.facts["gpus"])


# -- every value ---------------------------------------------------------------------------

FIELDS = {
    3: "ecc_corrected_total",
    4: "ecc_uncorrected_total",
    29: "retired_pages_corrected_total",
    30: "retired_pages_uncorrected_total",
    31: "retired_pages_pending",
    38: "nvlink_crc_errors_total",
    52: "nvlink_replays_total",
    59: "nvlink_recoveries_total",
    74: "throttled_power_ns_total",
    75: "throttled_thermal_ns_total",
    82: "memory_temperature_celsius",
    94: "pcie_replays_total",
    142: "remapped_rows_corrected_total",
    143: "remapped_rows_uncorrected_total",
    144: "remapped_rows_pending",
    145: "remapped_rows_failed",
    179: "pcie_nonfatal_errors_total",
    180: "pcie_fatal_errors_total",
    230: "recovery_action",
    269: "throttled_sw_thermal_ns_total",
    270: "throttled_hw_thermal_ns_total",
    271: "throttled_hw_power_brake_ns_total",
}


@standin
def test_every_value(play: Player) -> None:
    """Each value of NVML has its name and its unit, for every type."""
    fields: dict[Key, float] = {number: 10**12 + number for number in FIELDS}
    fields |= {91: 4, (214, ALL_LINKS): 7, (208, ALL_LINKS): 8, 82: 91, 144: 1, 145: 1, 230: 2}
    one = replace(
        gpu(),
        memory_total=80e9,
        memory_reserved=1e9,
        memory_used=60e9,
        utilization_gpu=97,
        utilization_memory=41,
        sm_clock=1410,
        sm_clock_max=1980,
        memory_clock=1593,
        memory_clock_max=2619,
        temperature=84,
        power=654_321,
        power_limit=700_000,
        reasons=0x48,
        fields=fields,
        types={82: 1, 144: 5, 145: 6, 230: 1, 94: 4, 179: 2, 91: 1},
    )
    watching = play(one)
    assert watching.facts["gpus"][0]["lacks"] == {}
    assert watching.sample().samples == {
        "gpu:0": {
            "memory_used_bytes": 60e9,
            "memory_free_bytes": 19e9,
            "memory_total_bytes": 80e9,
            "memory_reserved_bytes": 1e9,
            "utilization_percent": 97,
            "memory_utilization_percent": 41,
            "sm_clock_mhz": 1410,
            "sm_clock_max_mhz": 1980,
            "memory_clock_mhz": 1593,
            "memory_clock_max_mhz": 2619,
            "temperature_celsius": 84,
            "power_watts": 654.321,
            "power_limit_watts": 700,
            "clock_event_reasons_mask": 0x48,
            "hw_slowdown": 1,
            "hw_thermal_slowdown": 1,
            "hw_power_brake_slowdown": 0,
            "sw_thermal_slowdown": 0,
            "compute_processes": 0,
            "nvlink_failed_recoveries_total": 7,
            "nvlink_receive_errors_total": 8,
        }
        | {name: 10**12 + number for number, name in FIELDS.items()}
        | {
            "memory_temperature_celsius": 91,
            "remapped_rows_pending": 1,
            "remapped_rows_failed": 1,
            "recovery_action": 2,
        }
    }


@standin
def test_facts_of_a_gpu(play: Player) -> None:
    """Constant values are in the facts; values that NVML does not know are null."""
    known, unknown = play(gpu(), replace(gpu(1), capability=None, slowdown=None, ecc_mode=0)).facts[
        "gpus"
    ]
    retired = [name for name in FIELDS.values() if name.startswith("retired")]
    assert known == {
        "index": 0,
        "uuid": "GPU-00000000-0000-0000-0000-000000000000",
        "pci_bus_id": "00000000:1B:00.0",
        "name": "NVIDIA H100 80GB HBM3",
        "architecture": "hopper",
        "compute_capability": "9.0",
        "memory_total_bytes": 85_520_809_984,
        "slowdown_celsius": 87,
        "shutdown_celsius": 92,
        "ecc": True,
        "mig": False,
        "mig_devices": [],
        "lacks": dict.fromkeys(retired, "Not Supported"),
        "events": ["xid", "ecc_corrected", "ecc_uncorrected"],
    }
    assert unknown["compute_capability"] is unknown["slowdown_celsius"] is None
    assert unknown["ecc"] is False


@standin
def test_gpus_are_in_the_order_of_the_bus(play: Player) -> None:
    """The list has CUDA's order; ``index`` is the number that samples and events carry."""
    late, early = replace(gpu(0), pci="00000000:C1:00.0"), replace(gpu(1), pci="00000000:0A:00.0")
    assert [one["index"] for one in play(late, early).facts["gpus"]] == [1, 0]


@standin
def test_values_follow_the_time(play: Player, clock: Clock) -> None:
    """Memory of a GPU and of its processes, and every other value, are those of the moment."""
    busy = replace(
        gpu(),
        memory_used=steps((0, 1e9), (10, 9e9)),
        utilization_gpu=steps((0, 0), (10, 100)),
        processes=(Process(4242, steps((0, 0), (10, 2e9))), Process(17, line((0, 1e9)))),
    )
    watching = play(busy, gpu(1))
    before = watching.sample().samples
    clock.set(10)
    after = watching.sample().samples
    assert (before["gpu:0"]["memory_used_bytes"], after["gpu:0"]["memory_used_bytes"]) == (1e9, 9e9)
    assert (before["gpu:0"]["utilization_percent"], after["gpu:0"]["utilization_percent"]) == (
        0,
        100,
    )
    assert set(before) == {"gpu:0", "gpu:0/pid:17", "gpu:1"}
    assert after["gpu:0/pid:4242"] == {"memory_used_bytes": 2e9}
    assert (before["gpu:0"]["compute_processes"], after["gpu:0"]["compute_processes"]) == (1, 2)
    assert after["gpu:1"]["compute_processes"] == 0


@standin
def test_a_process_whose_memory_is_unknown_counts(play: Player) -> None:
    """A process with unknown memory is counted and has no sample."""
    samples = (
        play(replace(gpu(), processes=(Process(5, math.nan), Process(6, 1e9)))).sample().samples
    )
    assert samples["gpu:0"]["compute_processes"] == 2
    assert set(samples) == {"gpu:0", "gpu:0/pid:6"}


@standin
def test_activity_is_the_mean_since_the_last_sample(play: Player, clock: Clock) -> None:
    """Activity is the mean since the last sample."""
    watching = play(replace(gpu(), activity={2: steps((0, 0), (1000, 80)), 5: 12.5}))
    first = watching.sample().samples["gpu:0"]  # less than half a second after the opening
    assert "sm_activity_percent" not in first
    clock.set(2000)

    def activity() -> dict[str, float] | None:
        values = watching.sample().samples["gpu:0"]
        return values if "sm_activity_percent" in values else None

    values = until(activity, "activity")
    assert values["sm_activity_percent"] == pytest.approx(40, abs=1)
    assert values["tensor_activity_percent"] == 12.5
    assert "dram_activity_percent" not in values


@standin
def test_mig_devices_have_their_own_memory(play: Player) -> None:
    """The facts list the MIG devices of a GPU, and each has its own sample."""
    parts = (Mig("MIG-a", 10e9, 4e9), Mig("MIG-b", 20e9, 5e9))
    divided = replace(
        gpu(), mig_mode=1, mig=parts, utilization_gpu=None, processes=(Process(9, 4e9),)
    )
    watching = play(divided, gpu(1))
    facts = watching.facts["gpus"]
    assert [one["mig"] for one in facts] == [True, False]
    assert facts[0]["mig_devices"] == [
        {"number": 0, "uuid": "MIG-a"},
        {"number": 1, "uuid": "MIG-b"},
    ]
    assert facts[0]["lacks"]["utilization"] == "Not Supported"
    samples = watching.sample().samples
    assert set(samples) == {"gpu:0", "gpu:0/mig:0", "gpu:0/mig:1", "gpu:0/pid:9", "gpu:1"}
    assert samples["gpu:0/mig:1"] == {
        "memory_used_bytes": 5e9,
        "memory_free_bytes": 15e9,
        "memory_total_bytes": 20e9,
        "memory_reserved_bytes": 0,
    }
    assert "utilization_percent" not in samples["gpu:0"]
    assert samples["gpu:1"]["utilization_percent"] == 0
