"""When Slurm is asked about a run that ended, and what its answer means."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.launch_record import LaunchRecord, SlurmPlace
from gpualert_common.record import SPEC, Record
from gpualert_common.record.record import describe
from gpualert_common.slurm_evidence import ask_about_run, find_scheduler_stop
from gpualert_common.spec import Ending, RunSpec
from gpualert_common.telemetry.series import (
    SourceAvailability,
    Telemetry,
    TelemetryEvent,
    sample_once,
)
from gpualert_common.telemetry.source import ObservedRun, SourceUnavailableError, load_source_class
from tests.slurm.conftest import Install

NOW = time.time()
SLURMSTEPD = {"pid": 9, "uid": 0, "command": "slurmstepd: [7.0]"}


def _launched(place: SlurmPlace | None) -> LaunchRecord:
    return LaunchRecord(slurm=place, created_at=NOW - 100)


def _ended(code: int | None, signal: int | None = None, sender: Any = None) -> Ending:
    ending = Ending(NOW - 100, NOW)
    ending.code, ending.signal, ending.sender = code, signal, sender
    return ending


@pytest.mark.parametrize(
    ("place", "ending", "is_live"),
    [
        (None, _ended(1), True),
        ({"job": "7"}, _ended(0), True),
        ({"job": "7"}, _ended(-2, 2, {"command": "the terminal"}), True),
        ({"job": "7"}, _ended(-15, 15, {"meant_as": "cancelled"}), True),
    ],
)
def test_slurm_is_not_asked_about_every_run(
    place: SlurmPlace | None, ending: Ending, is_live: bool
) -> None:
    """Outside of Slurm, after a success, or a stop by a person or an engine, nothing is started."""
    assert ask_about_run(_launched(place), ending, is_live=is_live) is None


def test_a_large_job_asks_from_few_nodes(install: Install, tmp_path: Path) -> None:
    """Of thousands of nodes that fail at once, eight ask Slurm; a recovery asks for each run."""
    install("sacct", script=f"touch {tmp_path}/asked")
    later: SlurmPlace = {"job": "7", "step": "0", "index": 8}
    answer = ask_about_run(_launched(later), _ended(1), is_live=True)
    assert answer is not None
    assert not answer.source.available
    assert not (tmp_path / "asked").exists()
    ask_about_run(_launched(later), _ended(None), is_live=False)
    assert (tmp_path / "asked").exists()


def test_a_cluster_that_knows_nothing_is_named(install: Install) -> None:
    """The verdict's source says why there is no answer."""
    answer = ask_about_run(_launched({"job": "7"}), _ended(1), is_live=False)
    assert answer is not None
    assert not answer.source.available
    assert "sacct failed" in answer.source.why
    install("sacct", "")
    install("squeue", "")
    forgotten = ask_about_run(_launched({"job": "7"}), _ended(1), is_live=False)
    assert forgotten is not None
    assert forgotten.source.why == "Slurm does not know the job any more"


def test_a_hanging_slurm_delays_no_verdict_for_long(install: Install) -> None:
    """The answer is complete, or given up, within the deadline of a verdict."""
    for name in ("sacct", "squeue", "sacctmgr", "sinfo"):
        install(name, script="sleep 60")
    started = time.monotonic()
    answer = ask_about_run(_launched({"job": "7"}), _ended(1), is_live=True)
    assert answer is not None
    assert time.monotonic() - started < 5.0


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"state": 7, "has_ended": True},
        {"state": "NEWSTATE", "has_ended": True},
        {"state": "TIMEOUT", "has_ended": "yes"},
        {"state": "TIMEOUT", "has_ended": True, "ended_at": NOW + 60},
        {"state": ["TIMEOUT"], "has_ended": True},
    ],
)
def test_damaged_events_stop_nothing(fields: dict[str, Any]) -> None:
    """An event of another release, damaged, or about a later end, is no stop of the run."""
    telemetry = Telemetry()
    event = TelemetryEvent("slurm_job", "slurm", "slurm", NOW, "text", fields)
    telemetry.add(SourceAvailability("slurm", available=True), [event])
    assert find_scheduler_stop(telemetry, _ended(-15)) is None


def test_a_signal_of_slurm_to_a_job_that_goes_on_cancels_a_step() -> None:
    """Not so a failure, or a signal of somebody else."""
    telemetry = Telemetry()
    fields = {"job": "7", "state": "RUNNING", "has_ended": False}
    event = TelemetryEvent("slurm_job", "slurm", "slurm", NOW, "text", fields)
    telemetry.add(SourceAvailability("slurm", available=True), [event])
    stop = find_scheduler_stop(telemetry, _ended(-15, 15, SLURMSTEPD))
    assert stop is not None
    assert stop["cause"] == "cancelled"
    assert find_scheduler_stop(telemetry, _ended(1)) is None
    assert find_scheduler_stop(telemetry, _ended(-15, 15, {"pid": 3, "command": "python"})) is None


def test_the_source_samples_the_time_left(install: Install, tmp_path: Path) -> None:
    """The run on the first node of a job has the limit as a fact, and lost nodes as events."""
    ends_at = int(time.time()) + 6000
    install("squeue", f"7|RUNNING|{int(NOW)}|{ends_at}|node[1-2]\n")
    install("sinfo", f"node1|mixed|Unknown|Unknown|none\nnode2|down*|{int(NOW)}|root|gone\n")
    run = _observe(tmp_path / "first", {"job": "7"})
    found, events = sample_once("slurm", run)
    assert found.facts["ends_at"] == ends_at
    assert [event.text for event in events] == ["Slurm reports the node node2 as down*: gone"]
    source = load_source_class("slurm")(run)
    values = [dict(one.values) for one in source.sample() if hasattr(one, "values")]
    assert values[0]["nodes_lost"] == 1
    assert 5000 < values[0]["time_left_seconds"] <= 6000


@pytest.mark.parametrize("place", [None, {"job": "7", "step": "0", "index": 3}])
def test_other_runs_do_not_ask(install: Install, tmp_path: Path, place: SlurmPlace | None) -> None:
    """Outside of Slurm, and on the other nodes of a job, the source is not available."""
    install("squeue", script=f"touch {tmp_path}/asked")
    with pytest.raises(SourceUnavailableError):
        load_source_class("slurm")(_observe(tmp_path / "run", place))
    assert not (tmp_path / "asked").exists()


def _observe(home: Path, place: SlurmPlace | None) -> ObservedRun:
    record = Record.create(str(home), sync=False)
    spec = describe(RunSpec(("true",)), record, created_at=NOW, slurm=place)
    record.write_json(SPEC, spec)
    record.close()
    return ObservedRun("run", 1, "marker", NOW, str(home))
