"""Real kills: by the kernel at a real limit, and by a person; needs root for the kernel's log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.record import Record
from tests.supervised import Lab, shell
from tests.telemetry.host import limited_group

pytestmark = pytest.mark.e2e

LIMIT_BYTES = 150 << 20
EATS = "python3 -c 'held = [bytearray(1 << 24) for _ in range(200)]'"


def run(lab: Lab, script: str) -> dict[str, Any]:
    """Return the verdict on a script that is sampled."""
    variables = {**os.environ, **lab.environment(), "GPUALERT_OBSERVE": "true"}
    lab.gpualert("run", "--", *shell(script), env=variables)
    (path,) = lab.records()
    verdict = Record.open(str(path)).read_json("verdict.json")
    assert verdict is not None
    return verdict


@pytest.mark.parametrize("after_s", [0, 3])
@pytest.mark.parametrize("who", ["leader", "child"])
def test_limit_of_a_cgroup(who: str, after_s: int, lab: Lab) -> None:
    """The process and the limit are named, also for a short run, whatever the script prints."""
    with limited_group(LIMIT_BYTES) as group:
        enters = f"echo $$ > {group}/cgroup.procs; sleep {after_s};"
        ends = f"exec {EATS}" if who == "leader" else f"{EATS}; echo it goes on; exit 1"
        verdict = run(lab, f"{enters} {ends}")
    assert (verdict["cause"], verdict["family"]) == ("oom_killer", "A2")
    assert verdict["confidence"] >= (0.95 if who == "leader" or after_s else 0.8)
    details = verdict["details"]
    assert details["killed_command"] == "python3"
    assert details["limit_kind"] == "cgroup"
    assert Path(details["oom_memcg"]).name == group.name
    assert str(details["killed_pid"]) in verdict["headline"]


def test_somebody_else(lab: Lab) -> None:
    """A SIGKILL by a person is not an out-of-memory kill, and the kernel log is cited."""
    verdict = run(lab, "sleep 2; kill -9 $$")
    assert verdict["cause"] == "killed_unknown"
    assert verdict["details"]["killed_by"] == "somebody"
    assert any("no out-of-memory kill" in claim["claim"] for claim in verdict["shows"])


def test_kill_of_a_stranger(lab: Lab) -> None:
    """Nor is a SIGKILL at the time of an out-of-memory kill of another process."""
    with limited_group(LIMIT_BYTES) as group:
        stranger = f"sleep 1.5; echo $$ > {group}/cgroup.procs; exec {EATS}"
        lab.start(("bash", "-c", stranger))
        verdict = run(lab, "sleep 3; kill -9 $$")
    assert verdict["cause"] == "killed_unknown"
    assert "memory_kill_elsewhere" in [one["kind"] for one in verdict["warnings"]]
