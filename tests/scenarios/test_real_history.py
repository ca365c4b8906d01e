"""Real runs of one command in sequence: the comparison of the last one with the earlier ones."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from gpualert_common import recover, structs
from gpualert_common.history.past_run import compute_run_fingerprint
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.record import Record
from tests.scenarios.history import slow
from tests.supervised import PROGRAM, Lab, python
from tests.telemetry.standin import Process, Scenario, environment, gpu

STEPS = 120
TRAINS = f"""
import pathlib, time
pause_s = float(pathlib.Path("pause").read_text())
for step in range({STEPS}):
    time.sleep(pause_s)
    print(f"step {{step}}: loss {{5 / (10 + step):.4f}}", flush=True)
"""


def verdicts(lab: Lab) -> list[dict[str, Any]]:
    """Return the verdicts of all runs, oldest first."""
    found = [Record.open(str(path)).read_json("verdict.json") for path in lab.records()]
    return [verdict for verdict in found if verdict is not None]


@pytest.mark.e2e
def test_slower_than_before(lab: Lab) -> None:
    """A training with steps five times as long as in four earlier runs is healthy and slow, with
    figures; the reason is unknown."""
    pause = lab.home / "pause"
    pause.write_text("0.06")
    command = (*PROGRAM, "run", "--quiet", "--", *python(TRAINS))
    for running in [lab.start(command) for _run in range(4)]:
        assert running.wait(60) == 0
    pause.write_text("0.3")
    done = lab.run(*python(TRAINS))
    *fast, last = verdicts(lab)
    assert [verdict["details"]["health"] for verdict in fast] == ["healthy"] * 4
    assert (last["cause"], last["details"]["health"]) == ("none", "healthy_slow")
    assert last["details"]["times_slower"] >= 1.5
    assert "in 4 earlier runs" in last["headline"]
    assert last["headline"] in done.stderr.decode()
    assert "history" in [claim["source"] for claim in last["shows"]]
    assert any("why it was slower" in text for text in last["cannot_decide"])


@pytest.mark.e2e
def test_gpu_hours(lab: Lab) -> None:
    """The verdict and the list of runs have the same GPU-hours; a failed run wasted all of them."""
    used = (Process(lab.home / "pid", 60 << 30),)
    machine = Scenario(tuple(replace(gpu(index), processes=used) for index in range(2)))
    variables = {**os.environ, **environment(machine, lab.home / "machine")}
    trains = (
        "import os, sys, time\n"
        f"open({str(lab.home / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "time.sleep(7)\n"
        "sys.exit(3)\n"
    )
    variables |= {**lab.environment(), "GPUALERT_OBSERVE": "true"}
    lab.gpualert("run", "--", *python(trains), env=variables)
    (verdict,) = verdicts(lab)
    measured = verdict["measured"]
    assert measured["gpus"] == 2
    assert measured["gpu_seconds"] >= 2 * 7
    (row,) = lab.json("runs")["runs"]
    assert row["gpu_hours"] == pytest.approx(measured["gpu_seconds"] / 3600)
    assert row["wasted_gpu_hours"] == row["gpu_hours"]


def test_nothing_to_verify(lab: Lab) -> None:
    """A short command without GPUs gets no remark about unknown health."""
    lab.run("echo", "hi")
    (verdict,) = verdicts(lab)
    assert verdict["warnings"] == []
    assert verdict["details"] == {}


def ruin_version(file: Path) -> None:
    """Damage the file: a schema of a newer release."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 99")


def ruin_bytes(file: Path) -> None:
    """Damage the file: invalid bytes."""
    file.write_bytes(os.urandom(5000))


@pytest.mark.parametrize("ruin", [ruin_version, ruin_bytes])
def test_broken_history(tmp_path: Path, ruin: Any) -> None:
    """An unreadable history affects only the comparison, and the verdict names the reason."""
    scene = slow(Random(1), (84.0, 96.0))
    home = tmp_path / "runs"
    home.mkdir()
    for one in scene.earlier:
        ended = one.record(home)
        ended.close()
        recover.recover(Record.open(ended.path))
    ruin(tmp_path / "history.sqlite3")
    record = scene.record(home)
    verdict = recover.classify_logs(record, record.ending)
    assert verdict.details["health"] == "healthy"
    (source,) = [one for one in verdict.sources if one.name == "history"]
    assert not source.available
    assert "history.sqlite3" in (source.why or "")


def test_own_attempts_do_not_count(tmp_path: Path) -> None:
    """Earlier attempts at the same task do not count."""
    scene = slow(Random(1), (84.0, 96.0))
    home = tmp_path / "runs"
    home.mkdir()
    for one in (*scene.earlier, scene):
        one.custody = {"key": ("airflow", "dag", "run", "task", "-1")}
        record = one.record(home)
        record.close()
        recover.recover(Record.open(record.path))
    verdict = Record.open(record.path).read_json("verdict.json")
    assert verdict is not None
    assert verdict["details"]["health"] == "healthy"


def test_engine_that_names_runs_at_random() -> None:
    """The engine decides which runs belong to one training, whatever the names of the runs."""
    runs = [
        LaunchRecord(
            command=("bash", "-c", "python train.py"),
            cwd=f"/srv/tmp{place}prefect",
            name=name,
            custody={"key": ("prefect", name, "t", "0"), "training": "nightly-gpualert-run"},
        )
        for name, place in (("wise-otter", "ab12cd34"), ("odd-moose", "zz91k_2p"))
    ]
    first, second = map(compute_run_fingerprint, runs)
    assert first == second
    weekly = structs.replace(runs[0], custody={"training": "weekly-gpualert-run"})
    assert compute_run_fingerprint(weekly) != second
