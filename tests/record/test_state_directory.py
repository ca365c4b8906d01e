"""The state directory in force, and those that stand in for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.notify.alerting import write_config
from tests.supervised import Lab, shell

FAILS = shell("echo hello; exit 3")
OWN = "own"


def _by_variable(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.setenv("GPUALERT_STATE_DIR", str(lab.home / OWN))
    return ()


def _by_file(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.delenv("GPUALERT_STATE_DIR")
    write_config(lab, f'state_dir = "{lab.home / OWN}"\n')
    return ()


def _by_flag(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.delenv("GPUALERT_STATE_DIR")
    return "--state-dir", str(lab.home / OWN)


choices = pytest.mark.parametrize(
    "choose", [_by_variable, _by_file, _by_flag], ids=lambda choose: choose.__name__[1:]
)
Choose = Callable[[Lab, pytest.MonkeyPatch], tuple[str, ...]]


def _fails_in_the_default_places(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a failed run with an unsent alert in the directory of the user and in TMPDIR."""
    alerts = ("--notify", "command:false", "--notify-deadline", "0")
    with monkeypatch.context() as without:
        without.delenv("GPUALERT_STATE_DIR")
        assert lab.gpualert("run", *alerts, "--", *FAILS).returncode == 3
        without.setenv("XDG_STATE_HOME", str(lab.home / "tmp"))
        assert lab.gpualert("run", *alerts, "--", *FAILS).returncode == 3
    assert len(list(lab.home.glob("*/gpualert/runs/*"))) == 2


@choices
def test_runs_of_other_directories_are_not_read(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, choose: Choose
) -> None:
    """With a directory of one's own, no command reads the runs and alerts of any other."""
    _fails_in_the_default_places(lab, monkeypatch)
    options = choose(lab, monkeypatch)
    assert lab.json("runs", *options)["runs"] == []
    assert lab.json("outbox", "list", "--all", *options)["alerts"] == []
    assert lab.json("recover", *options)["records"] == []
    done = lab.gpualert("show", "last", *options)
    assert done.returncode == 2
    assert f"no run yet in {lab.home / OWN}/runs;".encode() in done.stderr
    assert lab.gpualert("run", *options, "--", *FAILS).returncode == 3
    (row,) = lab.json("runs", *options)["runs"]
    assert lab.json("show", "last", *options)["run_id"] == row["run_id"]
    assert Path(row["path"]).parent == lab.home / OWN / "runs"


def _fall_back(lab: Lab) -> Path:
    """Run in a state directory that takes no record; return the place that stood in for it."""
    lab.state.write_text("no directory")
    done = lab.gpualert("run", "--notify", "command:false", "--", *FAILS)
    assert done.returncode == 3
    (place,) = lab.home.glob("xdg-state/gpualert-*")
    return place


def test_used_fallback_is_found_again(lab: Lab) -> None:
    """A run that fell back is listed and shown, and stderr names its place and the reason."""
    place = _fall_back(lab)
    said = f"{place} is read too: it has runs that {lab.state} could not take: Not a directory\n"
    for command in (("runs",), ("show", "last"), ("outbox", "list")):
        done = lab.gpualert(*command)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stderr.decode().count(f"gpualert: {said}") == 1, command
    (row,) = lab.json("runs")["runs"]
    assert Path(row["path"]).parent == place / "runs"
    assert row["exit_code"] == 3


def test_fallback_of_a_directory_that_works_again(lab: Lab) -> None:
    """Later runs are in the directory in force again; those that fell back are still listed."""
    place = _fall_back(lab)
    lab.state.unlink()
    assert lab.run("true").returncode == 0
    paths = [Path(row["path"]).parent for row in lab.json("runs")["runs"]]
    assert sorted(paths) == sorted([place / "runs", lab.state / "runs"])


def test_fallback_belongs_to_one_directory(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that fell back belongs to no other directory: not to the default one, either."""
    _fall_back(lab)
    monkeypatch.delenv("GPUALERT_STATE_DIR")
    assert lab.json("runs")["runs"] == []
    monkeypatch.setenv("GPUALERT_STATE_DIR", str(lab.home / OWN))
    assert lab.json("runs")["runs"] == []
    done = lab.gpualert("runs", "--state-dir", str(lab.state), "--json")
    assert b'"exit_code": 3' in done.stdout


def test_fallback_that_was_never_used_is_not_mentioned(lab: Lab) -> None:
    """Without a run that fell back, no other directory is named or made."""
    assert lab.run("true").returncode == 0
    assert b"is read too" not in lab.gpualert("runs").stderr
    assert not (lab.home / "xdg-state").exists()
    assert list((lab.home / "tmp").iterdir()) == []
