"""Tests of the stand-in for NVML."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.telemetry.conftest import Watcher
from tests.telemetry.standin import Process, Scenario, environment, gpu, line

pytestmark = pytest.mark.standin


def test_processes_share_a_clock(watch: Watcher, tmp_path: Path) -> None:
    """Processes with one epoch see the same second, independent of their start."""
    rising = replace(gpu(), power=line((0, 0), (1000, 1_000_000)))
    variables = environment(Scenario((rising,), clock=time.time() - 100), tmp_path)
    watches = [watch("nvml", variables) for _ in range(2)]
    seconds = [one.sample().samples["gpu:0"]["power_watts"] for one in watches]
    assert 100 <= seconds[0] <= seconds[1] < 200


def test_a_process_is_found_when_its_number_is_known(watch: Watcher, tmp_path: Path) -> None:
    """A scenario can refer to a later process by the file that will hold its number."""
    number = tmp_path / "pid"
    scenario = Scenario((replace(gpu(), processes=(Process(number, 1e9),)),))
    watching = watch("nvml", environment(scenario, tmp_path))
    assert set(watching.sample().samples) == {"gpu:0"}
    number.write_text("4711\n")
    assert set(watching.sample().samples) == {"gpu:0", "gpu:0/pid:4711"}


def test_a_path_with_white_space_is_refused(tmp_path: Path) -> None:
    """A path with white space is refused when the scenario is written."""
    with pytest.raises(ValueError, match="white space"):
        str(Scenario(calls=tmp_path / "a place"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("clock noon", "line 1: no such clock: noon"),
        ("\n# \nhang 0 f 1 2", "line 3: no such statement: hang"),
        ("curve 0 power", "line 1: missing: shape"),
        ("curve 0 power step", "line 1: a curve without points: step"),
        ("curve 0 power bent 0:1", "line 1: neither step nor linear: bent"),
        ("curve 0 power step 0:x", "line 1: not a number: x"),
        ("curve 0 power step 0", "line 1: not SECOND:VALUE: 0"),
    ],
)
def test_a_scenario_that_is_wrong(
    watch: Watcher, tmp_path: Path, text: str, complaint: str
) -> None:
    """The library ends its process and names the wrong line."""
    variables = environment(Scenario((gpu(),)), tmp_path)
    (tmp_path / "nvml.scenario").write_text(text)
    with pytest.raises(AssertionError, match=complaint):
        watch("nvml", variables)
