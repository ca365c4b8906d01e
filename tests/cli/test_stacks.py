"""The command that shows the stacks of a run."""

from __future__ import annotations

import json
from typing import Any

from gpualert_common.stacks.storage import MOST_DUMPS, read_dumps
from tests.supervised import Lab, python, shell, until

SLEEPER = python("print('ready', flush=True)\nimport time\ntime.sleep(1000)")


def summarize(lab: Lab, *options: str) -> dict[str, Any]:
    """Return the only dump of the command's JSON."""
    (dump,) = lab.json("stacks", *options)["dumps"]
    found: dict[str, Any] = dump
    return found


def test_live_run(lab: Lab) -> None:
    """The stacks of a run in progress are taken now, shown, and stored in its record."""
    run = lab.launch(*SLEEPER)
    run.wait_for_output(b"ready")
    dump = until(
        lambda: one if (one := summarize(lab))["groups"][0]["state"] == "sleeps" else None,
        "the program to sleep",
    )
    assert dump["groups"][0]["pids"] == [run.leader]
    assert dump["reason"] == "on request"
    text = lab.gpualert("stacks", "--full").stdout.decode()
    assert f"process {run.leader} (" in text
    assert read_dumps(run.record)
    lab.gpualert("stop")
    assert run.wait()
    stored = lab.gpualert("stacks").stdout.decode()
    assert f"process {run.leader} (" in stored


def test_limit_of_the_record(lab: Lab) -> None:
    """Dumps on request leave room in the record for those that are taken by themselves."""
    run = lab.launch(*SLEEPER)
    run.wait_for_output(b"ready")
    for _call in range(MOST_DUMPS):
        assert lab.gpualert("stacks").returncode == 0
    assert len(read_dumps(run.record)) == 3


def test_no_stacks(lab: Lab) -> None:
    """A run that ended without a dump is an error that says so."""
    lab.run(*shell("true"))
    done = lab.gpualert("stacks", "--json")
    assert done.returncode == 2
    assert b"has ended, and no stacks were taken while it ran" in done.stderr
    assert done.stdout == b""


def test_json_is_complete(lab: Lab) -> None:
    """The JSON has the schema, the run, and for each process its threads and waits."""
    run = lab.launch(*SLEEPER)
    run.wait_for_output(b"ready")
    value = json.loads(lab.gpualert("stacks", "--pause", "--json").stdout)
    assert (value["schema"], value["run_id"]) == (1, run.record.run_id)
    (dump,) = value["dumps"]
    assert {"host", "stacks", "summary", "missing_ranks", "took_ms"} <= dump.keys()
    (process,) = dump["processes"]
    assert process["paused_ms"] > 0
    assert process["threads"][0]["tid"] == run.leader


def test_show_of_a_live_run(lab: Lab) -> None:
    """The page of a live run has the stacks that were taken since its last output."""
    run = lab.launch(*SLEEPER)
    run.wait_for_output(b"ready")
    assert b"Stacks" not in lab.gpualert("show").stdout
    assert lab.gpualert("stacks").returncode == 0
    page = " ".join(lab.gpualert("show").stdout.decode().split())
    assert f"Stacks process {run.leader} (" in page
