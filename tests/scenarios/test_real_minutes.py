"""Real children of the families that take minutes to decide, in parallel, with real samplers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.record import Record
from tests.supervised import PROGRAM, Lab, python
from tests.telemetry.standin import Process, Scenario, environment, gpu, line, steps

pytestmark = pytest.mark.nightly

GIB = 1 << 30
SECONDS = 170
SM_ACTIVITY = 2
"""The number of the metric in GPM."""
THROTTLED_HW_THERMAL_NS = 270
"""The number of the field in NVML."""
TRAINS = f"""
import os, time
open({{pid!r}}, "w").write(str(os.getpid()))
end = time.monotonic() + {SECONDS}
number = 0
while time.monotonic() < end:
    number += 1
    print(f"step {{{{number}}}}: loss {{{{9 / number:.4f}}}}", flush=True)
    time.sleep({{pause_s}})
"""


def _machine(pid: Path, *changes: dict[str, Any]) -> Scenario:
    """GPUs that the process uses, each changed as given."""
    process = Process(pid, 60 * GIB)
    busy = {
        "processes": (process,),
        "memory_used": 60 * GIB,
        "utilization_gpu": 97,
        "activity": {**gpu(0).activity, SM_ACTIVITY: 88.0},
    }
    return Scenario(
        tuple(replace(gpu(at), **{**busy, **change}) for at, change in enumerate(changes))
    )


def _hot() -> dict[str, Any]:
    counter = {THROTTLED_HW_THERMAL_NS: line((0, 0), (SECONDS, SECONDS * 1e9))}
    return {"fields": {**gpu(0).fields, **counter}, "sm_clock": steps((0, 1980), (20, 900))}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, Any]]]:
    """Return the verdicts on all runs, which are in progress in parallel."""
    place = tmp_path_factory.mktemp("minutes")
    told: dict[str, dict[str, Any]] = {}
    labs = {name: Lab(place / name) for name in ("hang", "idle", "slow", "hot", "well")}
    running = {}
    for name, lab in labs.items():
        (lab.home / "tmp").mkdir(parents=True)
        pid = lab.home / "pid"
        machine = {
            "hang": _machine(pid, {"utilization_gpu": steps((0, 97), (8, 0))}),
            "idle": _machine(pid, {"utilization_gpu": 3, "activity": {SM_ACTIVITY: 2.0}}),
            "slow": _machine(pid, {}, {}, {"sm_clock": 900}, {}),
            "hot": _machine(pid, _hot()),
            "well": _machine(pid, {}, {}),
        }[name]
        limit = ("--timeout", f"{SECONDS - 10}s") if name == "hang" else ()
        script = TRAINS.format(pid=str(pid), pause_s=1)
        if name == "hang":  # after some steps it waits for what never comes
            script = script.replace("    time.sleep(1)", "    time.sleep(1 if number < 8 else 999)")
        variables = {**os.environ, **lab.environment(), "GPUALERT_OBSERVE": "true"}
        variables |= environment(machine, lab.home / "machine")
        running[name] = lab.start((*PROGRAM, "run", *limit, "--", *python(script)), env=variables)
    for name, process in running.items():
        process.wait(SECONDS + 120)
        verdict = labs[name].record().read_json("verdict.json")
        assert verdict is not None
        told[name] = verdict
    yield told
    for lab in labs.values():
        lab.end_everything()


@pytest.mark.parametrize(
    ("name", "cause", "family"),
    [
        ("hang", "idle_hang", "C3"),
        ("idle", "under_utilization", "D1"),
        ("slow", "straggler", "D3"),
        ("hot", "none", "G1"),
        ("well", "none", "G1"),
    ],
)
def test_family(name: str, cause: str, family: str, verdicts: dict[str, dict[str, Any]]) -> None:
    """Each run gets the right family."""
    verdict = verdicts[name]
    assert (verdict["cause"], verdict["family"]) == (cause, family)


def test_hot(verdicts: dict[str, dict[str, Any]]) -> None:
    """B3: minutes of heat are reported; the claim that they slowed the run takes longer."""
    assert "throttling" in [one["kind"] for one in verdicts["hot"]["warnings"]]
    assert "throttling" not in [one["kind"] for one in verdicts["well"]["warnings"]]


def test_records_are_whole(verdicts: dict[str, dict[str, Any]]) -> None:
    """All available sources sampled the run to its end."""
    for verdict in verdicts.values():
        path = Path(verdict["log_path"]).parent
        assert Record.open(str(path)).read_json("exit.json") is not None
        told = {one["name"]: one["available"] for one in verdict["sources"]}
        assert told["nvml"]
        assert told["processes"]
