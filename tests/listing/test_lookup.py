"""Names of runs, wherever a command takes a RUN."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from gpualert_common.errors import UsageError
from gpualert_common.guardian import RunHandle
from gpualert_common.listing.lookup import find_record
from tests.supervised import Lab, shell

WAITS = shell("until [ -e go ]; do sleep 0.01; done")


def run_named(lab: Lab, name: str, *command: str) -> Path:
    """Run a command under a name; return its record."""
    before = set(lab.records())
    lab.gpualert("run", "--name", name, "--", *command)
    (path,) = set(lab.records()) - before
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ("show",),
        ("follow",),
        ("stop",),
        ("recover",),
        ("progress",),
        ("outbox", "retry"),
        ("outbox", "drop"),
        ("notify", "preview", "--channel", "mailbox"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_every_command_takes_a_name(lab: Lab, arguments: tuple[str, ...]) -> None:
    """A command that takes a RUN takes the name of one."""
    run_named(lab, "llama", *shell("echo step 1 loss 0.5; exit 3"))
    run_named(lab, "other", "true")
    done = lab.gpualert(*arguments, "llama")
    assert b"no run" not in done.stderr
    assert done.returncode in (0, 1), done.stderr


def test_newest_of_a_name(lab: Lab) -> None:
    """A name stands for the newest run of that name."""
    run_named(lab, "llama", "true")
    newest = run_named(lab, "llama", "false")
    run_named(lab, "other", "true")
    assert lab.json("show", "llama")["run_id"] == newest.name


def test_mapped_task(lab: Lab) -> None:
    """A run of a mapped task has its name with the map index, too."""
    paths = [run_named(lab, "dag.train", "true") for _run in range(3)]
    for index, path in enumerate(paths):
        fields = json.loads((path / "spec.json").read_bytes())
        key = ["airflow", "dag", "manual", "train", str(index)]
        (path / "spec.json").write_text(json.dumps({**fields, "custody": {"key": key}}))
    assert find_record("dag.train[1]", [str(lab.state)]).run_id == paths[1].name
    assert find_record("dag.train", [str(lab.state)]).run_id == paths[2].name


def test_name_that_begins_as_ids_do(lab: Lab) -> None:
    """A name that several ids begin with, too, is the name of a run."""
    start = run_named(lab, "other", "true").name[:2]
    named = run_named(lab, start, "true")
    run_named(lab, "other", "true")
    assert lab.json("show", start)["run_id"] == named.name


@pytest.mark.parametrize(
    ("typed", "hint"),
    [("lama", "llama"), ("llama-pretrian", "llama-pretrain"), ("Pretrain", "llama-pretrain")],
)
def test_close_names(lab: Lab, typed: str, hint: str) -> None:
    """The error for an unknown name has the names that are close to it."""
    for name in ("llama", "llama-pretrain", "eval"):
        run_named(lab, name, "true")
    with pytest.raises(UsageError, match=rf"no run '{typed}' in .*; did you mean {hint}\b"):
        find_record(typed, [str(lab.state)])


def test_close_ids(lab: Lab) -> None:
    """The error for an id with a wrong digit has the id that is close to it."""
    run_id = run_named(lab, "llama", "true").name
    typed = run_id[:14] + ("1" if run_id[14] == "0" else "0")
    with pytest.raises(UsageError, match=f"did you mean {run_id[:15]}\\?"):
        find_record(typed, [str(lab.state)])


def test_damaged_record_hides_no_name(lab: Lab) -> None:
    """A name is found although a newer record is damaged."""
    named = run_named(lab, "llama", "true")
    (run_named(lab, "other", "true") / "spec.json").write_text("{")
    assert find_record("llama", [str(lab.state)]).run_id == named.name


def test_name_of_a_hostile_run(lab: Lab) -> None:
    """A name of the launch record that is no text names nothing."""
    path = run_named(lab, "llama", "true")
    fields = json.loads((path / "spec.json").read_bytes())
    (path / "spec.json").write_text(json.dumps({**fields, "name": ["llama"]}))
    with pytest.raises(UsageError, match="no run 'llama'"):
        find_record("llama", [str(lab.state)])


def test_handle_of_a_name(lab: Lab) -> None:
    """The Python API attaches to a run by its name."""
    path = run_named(lab, "llama", "true")
    with RunHandle.attach("llama", str(lab.state)) as handle:
        assert handle.run_id == path.name


def test_stop_takes_the_live_run_of_a_name(lab: Lab) -> None:
    """``stop`` stops the live run of a name, even if a newer one has ended."""
    live = lab.launch(*WAITS, options=("--name", "llama"))
    run_named(lab, "llama", "true")
    done = lab.json("stop", "llama")
    assert done["run_id"] == live.record.run_id
    assert live.wait() == 128 + signal.SIGTERM


def test_stop_of_several_live_runs(lab: Lab) -> None:
    """``stop`` of a name with several live runs stops none, and lists them."""
    runs = [lab.launch(*WAITS, options=("--name", "llama")) for _run in range(2)]
    done = lab.gpualert("stop", "llama")
    assert done.returncode == 2
    assert b"2 runs are live: " in done.stderr
    assert all(run.record.run_id in done.stderr.decode() for run in runs)
    assert [run.process.poll() for run in runs] == [None, None]


def test_stop_of_a_path_elsewhere(lab: Lab) -> None:
    """``stop`` takes the path of a record that is in no state directory of this call."""
    live = lab.launch(*WAITS)
    done = lab.gpualert("stop", live.record.path, "--state-dir", str(lab.home / "other"))
    assert done.returncode == 0, done.stderr
    assert live.wait() == 128 + signal.SIGTERM
