"""Tests of the source ``nvml`` with failing GPUs and calls that hang."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.supervised import until
from tests.telemetry.conftest import Player
from tests.telemetry.standin import (
    ECC_CORRECTED,
    ECC_UNCORRECTED,
    GPU_IS_LOST,
    NO_PERMISSION,
    RESET_REQUIRED,
    UNKNOWN,
    XID,
    Clock,
    Fails,
    GpuEvent,
    Hangs,
    Mig,
    gpu,
)
from tests.telemetry.standin.watch import Watch, WatchOutput

pytestmark = pytest.mark.standin


def wait_for_event(watching: Watch, what: str, output: WatchOutput | None = None) -> dict[str, Any]:
    """Return the first event of a kind, from this sample or a later one."""

    def find_events() -> list[dict[str, Any]]:
        nonlocal output
        events = (output or watching.sample()).of_kind(what)
        output = None
        return events

    return until(find_events, what)[0]


# -- a GPU ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("nvmlDeviceGetPowerUsage", "power_watts"),
        ("field:94", "pcie_replays_total"),
        ("field:161@1", "nvlink_replays_total"),
    ],
)
def test_a_failure_that_passes(play: Player, clock: Clock, function: str, name: str) -> None:
    """A value that fails temporarily is left out, reported once, and read again afterwards."""
    fields = {number: value for number, value in gpu().fields.items() if number != 52}
    linked = replace(gpu(), fields={**fields, 91: 2, 161: 1, (161, 1): 2})
    watching = play(linked, trouble=(Fails(function, UNKNOWN, 0, 10, 20),))
    output = []
    for second in (5, 12, 15, 25):
        clock.set(second)
        output.append(watching.sample())
    assert [name in one.samples["gpu:0"] for one in output] == [True, False, False, True]
    assert all("temperature_celsius" in one.samples["gpu:0"] for one in output)
    assert [len(one.events) for one in output] == [0, 1, 0, 0]
    (event,) = output[1].events
    assert (event["what"], event["of"], event["fields"]["value"]) == ("read_failed", "gpu:0", name)


@pytest.mark.parametrize(
    "functions",
    [("*",), ("nvmlDeviceGetMemoryInfo_v2", "nvmlEventSetWait_v2")],
    ids=["all", "some"],
)
def test_a_lost_gpu_keeps_no_other_from_being_read(
    play: Player, clock: Clock, tmp_path: Path, functions: tuple[str, ...]
) -> None:
    """A lost GPU is reported once; samples and events of the others continue."""
    falling = replace(gpu(), events=(GpuEvent(9.9, 79),))
    staying = replace(gpu(1), events=(GpuEvent(20, 31),))
    lost = tuple(Fails(function, GPU_IS_LOST, 0, 10) for function in functions)
    calls = tmp_path / "calls"
    watching = play(falling, staying, trouble=lost, calls=calls)
    assert set(watching.sample().samples) == {"gpu:0", "gpu:1"}
    clock.set(11)
    output = watching.sample()
    assert set(output.samples) == {"gpu:1"}
    (event,) = output.of_kind("gpu_lost")
    assert (event["of"], event["fields"]["uuid"]) == ("gpu:0", falling.uuid)
    xid = wait_for_event(watching, "xid", output)
    assert (xid["of"], xid["fields"]["xid"]) == ("gpu:0", 79)

    # While a lost GPU is in an event set, waiting fails at once for all GPUs of the set.
    def is_registered_alone() -> bool:
        registered = Counter(calls.read_text().splitlines())
        return registered["nvmlDeviceRegisterEvents 1"] > registered["nvmlDeviceRegisterEvents 0"]

    until(is_registered_alone, "an event set with the other GPU alone")
    clock.set(20.5)
    xid = wait_for_event(watching, "xid")
    assert (xid["of"], xid["fields"]["xid"]) == ("gpu:1", 31)
    assert watching.sample().of_kind("gpu_lost") == []


@pytest.mark.parametrize(
    ("code", "what"), [(GPU_IS_LOST, "gpu_lost"), (NO_PERMISSION, "read_failed")]
)
@pytest.mark.parametrize("function", ["*", "nvmlDeviceGetHandleByIndex_v2"])
def test_a_gpu_that_cannot_be_opened(play: Player, code: int, what: str, function: str) -> None:
    """A GPU that fails from the start is in the facts and reported; the other one is sampled."""
    watching = play(gpu(0), gpu(1), trouble=(Fails(function, code, gpu=0),))
    assert {one["index"] for one in watching.facts["gpus"]} == {0, 1}
    assert [one["index"] for one in watching.facts["gpus"] if "error" in one] == [0]
    output = watching.sample()
    assert set(output.samples) == {"gpu:1"}
    assert [(event["what"], event["of"]) for event in output.events] == [(what, "gpu:0")]
    assert watching.sample().events == []


def test_a_gpu_that_is_lost_while_it_is_opened(play: Player) -> None:
    """A GPU that only returns a handle is reported as lost; the other one is sampled."""
    functions = ("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetUUID", "nvmlDeviceRegisterEvents")
    trouble = tuple(Fails(function, GPU_IS_LOST, gpu=0) for function in functions)
    output = play(gpu(0), gpu(1), trouble=trouble).sample()
    assert set(output.samples) == {"gpu:1"}
    assert [event["what"] for event in output.events] == ["gpu_lost"]


def test_a_gpu_that_wants_a_reset(play: Player, clock: Clock) -> None:
    """A required reset is reported once, and the remaining values are still read."""
    names = ("field:143", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetUtilizationRates")
    trouble = tuple(Fails(name, RESET_REQUIRED, 0, 10) for name in names)
    watching = play(gpu(), trouble=trouble)
    watching.sample()
    clock.set(11)
    output = watching.sample()
    assert [(event["what"], event["of"]) for event in output.events] == [
        ("reset_required", "gpu:0")
    ]
    values = output.samples["gpu:0"]
    assert "temperature_celsius" in values
    assert "power_watts" not in values
    assert "remapped_rows_uncorrected_total" not in values
    assert watching.sample().events == []


# -- events --------------------------------------------------------------------------------


def test_an_xid_is_an_event(play: Player, clock: Clock) -> None:
    """An Xid has its number, GPU and time; Xids from before the run are not reported."""
    clock.set(5)
    watching = play(replace(gpu(1), events=(GpuEvent(4, 43), GpuEvent(10, 79))))
    assert watching.sample().events == []
    clock.set(10)
    before = time.time()
    event = wait_for_event(watching, "xid")
    assert event["of"] == "gpu:0"
    assert event["fields"] == {"xid": 79, "gpu": 0, "uuid": gpu(1).uuid, "count": 1}
    assert event["text"] == "Xid 79 on GPU 0"
    assert before - 1 < event["at"] < time.time()


def test_every_kind_of_event(play: Player, clock: Clock) -> None:
    """Each event type of NVML has a name, and only supported types are registered."""
    kinds = {
        XID: "xid",
        ECC_CORRECTED: "ecc_corrected",
        ECC_UNCORRECTED: "ecc_uncorrected",
        0x200: "ecc_corrected_storm",
        0x400: "memory_retired",
        0x800: "memory_retirement_failed",
        0x1000: "poison",
        0x2000: "poison_fatal",
        0x4000: "gpu_unavailable",
        0x8000: "recovery_action",
    }
    events = tuple(GpuEvent(10, 31, kind) for kind in (*kinds, 0x4, 0x10))
    everything = replace(gpu(0), events=events, event_types=0xFF9F)
    only_xids = replace(gpu(1), events=events, event_types=XID)
    watching = play(everything, only_xids)
    assert [set(one["events"]) for one in watching.facts["gpus"]] == [set(kinds.values()), {"xid"}]
    clock.set(10)
    counts: Counter[tuple[str, str]] = Counter()

    def is_complete() -> bool:
        counts.update((event["what"], event["of"]) for event in watching.sample().events)
        return len(counts) > len(kinds)

    until(is_complete, "every kind")
    assert counts == Counter([*((name, "gpu:0") for name in kinds.values()), ("xid", "gpu:1")])


def test_equal_events_are_one_event(play: Player, clock: Clock, tmp_path: Path) -> None:
    """Equal events between two samples are one event with a count; other Xids stay separate, in
    order."""
    storm = tuple(GpuEvent(10, number) for number in (48, 63, 48, 48, 63))
    calls = tmp_path / "calls"
    watching = play(replace(gpu(), events=storm), calls=calls)
    clock.set(10)
    before = calls.read_text().count("EventSetWait")
    until(lambda: calls.read_text().count("EventSetWait") > before + len(storm), "all to come")
    xids = [event["fields"] for event in watching.sample().of_kind("xid")]
    assert [(fields["xid"], fields["count"]) for fields in xids] == [(48, 3), (63, 2)]


def test_an_event_names_the_mig_device(play: Player, clock: Clock) -> None:
    """An event of a GPU instance names the instance."""
    divided = replace(
        gpu(),
        mig_mode=1,
        mig=(Mig("MIG-a", 10e9, 0), Mig("MIG-b", 10e9, 0)),
        events=(GpuEvent(10, 13, mig=1),),
    )
    watching = play(divided)
    clock.set(10)
    fields = wait_for_event(watching, "xid")["fields"]
    assert (fields["gpu_instance"], fields["compute_instance"]) == (1, 0)


@pytest.mark.parametrize("function", ["nvmlEventSetCreate", "nvmlDeviceRegisterEvents"])
def test_a_machine_without_events(play: Player, function: str) -> None:
    """If events are not supported the facts say so, and all values are read."""
    watching = play(gpu(), trouble=(Fails(function, NO_PERMISSION),))
    assert watching.facts["gpus"][0]["events"] == []
    assert watching.facts["gpus"][0]["lacks"]["events"] == "Insufficient Permissions"
    assert watching.sample().samples["gpu:0"]["temperature_celsius"] == 35
    watching.close()


# -- calls that hang -----------------------------------------------------------------------


def test_a_call_that_hangs_holds_up_only_its_gpu(play: Player, clock: Clock) -> None:
    """A hanging GPU is reported, the others are read, and it returns when the call does."""
    hang = Hangs("nvmlDeviceGetTemperatureV", gpu=0, from_s=10, until_s=100)
    watching = play(gpu(0), gpu(1), trouble=(hang,))
    clock.set(11)
    first, second = watching.sample(), watching.sample()
    assert set(first.samples) == set(second.samples) == {"gpu:1"}
    (event,) = first.events
    assert (event["what"], event["of"]) == ("not_answering", "gpu:0")
    assert event["fields"]["asking"] == "temperature_celsius"
    assert second.events == []
    clock.set(100)

    def back() -> WatchOutput | None:
        output = watching.sample()
        return output if "gpu:0" in output.samples else None

    assert [event["what"] for event in until(back, "it to answer").events] == ["answers_again"]


@pytest.mark.parametrize(
    "function", ["nvmlDeviceGetPowerUsage", "nvmlEventSetWait_v2", "nvmlShutdown"]
)
def test_closing_while_a_call_hangs(
    play: Player, clock: Clock, tmp_path: Path, function: str
) -> None:
    """Closing returns while a call hangs, and the process can exit."""
    calls = tmp_path / "calls"
    watching = play(gpu(), trouble=(Hangs(function, from_s=10),), calls=calls)
    clock.set(11)
    before = calls.read_text().count("EventSetWait")
    until(lambda: calls.read_text().count("EventSetWait") > before, "another call")
    watching.sample()
    watching.close()
    assert watching.end() == 0
    called = Counter(line.split()[0] for line in calls.read_text().splitlines())
    assert called["nvmlShutdown"] == (function == "nvmlShutdown")


def test_closing_frees_everything(play: Player, tmp_path: Path) -> None:
    """Closing frees event set and samples and shuts NVML down; no call follows."""
    calls = tmp_path / "calls"
    watching = play(gpu(0), gpu(1), calls=calls)
    watching.sample()
    watching.close()
    called = calls.read_text().splitlines()
    counts = Counter(name.split()[0] for name in called)
    assert counts["nvmlEventSetCreate"] == counts["nvmlEventSetFree"] == 1
    assert counts["nvmlGpmSampleAlloc"] == counts["nvmlGpmSampleFree"] == 4
    assert counts["nvmlInitWithFlags"] == counts["nvmlShutdown"] == 1
    assert called[-1] == "nvmlShutdown -1"
    assert watching.sample() == WatchOutput({}, [])
    assert calls.read_text().splitlines() == called
