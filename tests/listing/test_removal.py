"""Removal of records: ``gpualert rm`` and ``gpualert prune``."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from gpualert_common.guardian import Attempt, RunHandle
from gpualert_common.history import History, rebuild
from gpualert_common.record import Record
from gpualert_common.spec import RunSpec
from tests.supervised import PROGRAM, Lab, breaking, python, shell, until
from tests.terminal import Terminal

WAITS = shell("until [ -e go ]; do sleep 0.01; done")
DAY_S = 86400.0


def ended(lab: Lab, name: str, *command: str, days: float = 0.0, notify: str = "none") -> Path:
    """Run a command under a name to its end; return its record, which ended so long ago."""
    before = set(lab.records())
    environment = {**os.environ, "GPUALERT_NOTIFY": notify}
    lab.gpualert("run", "--name", name, "--", *(command or ("true",)), env=environment)
    (path,) = set(lab.records()) - before
    if days:
        fields = json.loads((path / "exit.json").read_bytes())
        at = time.time() - days * DAY_S
        (path / "exit.json").write_text(json.dumps({**fields, "started_at": at, "ended_at": at}))
    return path


def names(lab: Lab) -> list[str]:
    """Return the names of the runs that are left, oldest first."""
    return [row["name"] for row in lab.json("runs")["runs"]]


def refused(lab: Lab, *arguments: str, words: str) -> None:
    """Assert that a removal keeps all records, and says why."""
    before = lab.records()
    done = lab.gpualert("rm", "--yes", *arguments)
    assert done.returncode in (1, 2)
    assert words in done.stderr.decode()
    assert lab.records() == before


def test_rm(lab: Lab) -> None:
    """``rm`` removes the named runs, and their rows in the history, and nothing else."""
    gone, other, last = (ended(lab, name) for name in ("a", "b", "c"))
    rebuild(str(lab.state))
    assert len(History.open(str(lab.state)).read_all()) == 3
    done = lab.gpualert("rm", "--yes", "a", last.name)
    assert done.returncode == 0, done.stderr
    assert b"to remove: 2 runs, " in done.stdout
    assert done.stdout.endswith(b"removed 2 runs\n")
    assert lab.records() == [other]
    assert not gone.exists()
    assert list(History.open(str(lab.state)).read_all()) == [other.name]


def test_nothing_is_removed_without_a_terminal(lab: Lab) -> None:
    """Without a terminal the runs are shown only, with the option that removes them."""
    path = ended(lab, "a")
    done = lab.gpualert("rm", "a")
    assert done.returncode == 1
    assert path.name.encode() in done.stdout
    assert done.stderr == b"nothing is removed; to remove: --yes\n"
    assert lab.records() == [path]


@pytest.mark.parametrize(("answer", "left"), [(b"y\n", []), (b"\n", ["a"]), (b"no\n", ["a"])])
def test_question_at_a_terminal(
    lab: Lab, terminal: Terminal, answer: bytes, left: list[str]
) -> None:
    """At a terminal the user is asked; only "y" removes."""
    ended(lab, "a")
    process = terminal.start(lab, *PROGRAM, "rm", "a")
    terminal.shows(b"Remove this run? [y/N] ")
    os.write(terminal.master, answer)
    assert process.wait(30) == len(left)
    assert names(lab) == left


def test_dry_run_as_json(lab: Lab) -> None:
    """--json without --yes shows what would go and what would stay, and removes nothing."""
    path = ended(lab, "a")
    plan = lab.json("rm", "a")
    (row,) = plan.pop("removable")
    assert plan == {"schema": 1, "kept": [], "removed": []}
    assert (row["run_id"], row["path"], row["bytes"] > 0) == (path.name, str(path), True)
    assert lab.records() == [path]
    assert lab.json("rm", "a", "--yes")["removed"] == [path.name]
    assert not lab.records()


def test_unknown_run_removes_none(lab: Lab) -> None:
    """If one of the runs does not exist, none is removed."""
    ended(lab, "a")
    refused(lab, "a", "nowhere", words="no run 'nowhere'")


def test_several_of_a_name(lab: Lab) -> None:
    """A name of several runs is refused with their ids."""
    paths = [ended(lab, "a") for _run in range(2)]
    refused(lab, "a", words="2 runs have the name 'a'")
    refused(lab, "a", words=paths[0].name)


# -- records that stay -------------------------------------------------------------------------


def test_live_run(lab: Lab) -> None:
    """A live run is kept, even with --force, and goes on."""
    run = lab.launch(*WAITS)
    refused(lab, "last", "--force", words="it is running")
    assert run.process.poll() is None
    (lab.home / "go").touch()
    assert run.wait() == 0


def test_run_without_a_supervisor(lab: Lab) -> None:
    """A run whose supervisor died is kept until its record is finished."""
    run = lab.launch(*WAITS)
    run.process.kill()
    run.process.wait()
    until(lambda: not run.record.is_held, "the lock to be free")
    path = run.record.path
    refused(
        lab, path, "--force", words="its end is not recorded; finish it first: gpualert recover"
    )


def test_record_in_use(lab: Lab) -> None:
    """An ended run whose record a process holds is kept."""
    record = Record.open(str(ended(lab, "a")))
    assert record.take()
    refused(lab, "a", "--force", words="its end is still being processed")
    record.close()
    assert lab.gpualert("rm", "--yes", "a").returncode == 0


def test_undelivered_alert(lab: Lab) -> None:
    """A run with an alert that is not delivered is kept, unless that is dropped, or --force."""
    for name in ("a", "b"):
        ended(lab, name, "false", notify="command:/bin/false")
        refused(lab, name, words="is not delivered; to remove it nevertheless: --force")
    assert lab.gpualert("outbox", "drop", "a").returncode == 0
    assert lab.gpualert("rm", "--yes", "a").returncode == 0
    assert lab.gpualert("rm", "--yes", "--force", "b").returncode == 0
    assert not lab.records()
    assert not list(lab.state.glob("undelivered/*"))


def test_delivered_alert(lab: Lab) -> None:
    """A run whose alert was delivered is removed."""
    ended(lab, "a", "false", notify="mailbox")
    assert lab.gpualert("rm", "--yes", "a").returncode == 0


def test_record_elsewhere(lab: Lab) -> None:
    """A record outside the state directory is kept; --state-dir makes it one inside."""
    path = ended(lab, "a")
    other = lab.home / "other" / "runs" / path.name
    other.parent.mkdir(0o700, parents=True)
    shutil.copytree(path, other)
    refused(lab, str(other), words="is not in a state directory of this call")
    assert other.exists()
    done = lab.gpualert("rm", "--yes", str(other), "--state-dir", str(lab.home / "other"))
    assert done.returncode == 0, done.stderr
    assert not other.exists()
    assert path.exists()


@pytest.mark.parametrize("make", ["link", "open to others", "file"])
def test_record_that_is_not_trusted(lab: Lab, make: str) -> None:
    """A link, a file, or a directory that others can write to is not removed."""
    place = lab.home / "precious"
    path = ended(lab, "a")
    path.rename(place)
    if make == "link":
        path.symlink_to(place)
    elif make == "file":
        path.write_text("precious")
    else:
        shutil.copytree(place, path)
        path.chmod(0o777)
    refused(lab, path.name, "--force", words=path.name)
    assert (place / "verdict.json").exists()


def test_links_in_a_record(lab: Lab) -> None:
    """The targets of links in a record stay."""
    precious = lab.home / "precious"
    precious.mkdir()
    (precious / "file").touch()
    path = ended(lab, "a")
    (path / "link").symlink_to(precious)
    (path / "folder").mkdir()
    (path / "folder" / "link").symlink_to(precious / "file")
    assert lab.gpualert("rm", "--yes", "a").returncode == 0
    assert not path.exists()
    assert (precious / "file").exists()


def test_damaged_record(lab: Lab) -> None:
    """A damaged record is removed by its id."""
    path = ended(lab, "a")
    (path / "exit.json").write_text("{")
    (path / "spec.json").unlink()
    assert lab.gpualert("rm", "--yes", path.name).returncode == 0
    assert not lab.records()


# -- interruption ------------------------------------------------------------------------------


def test_interrupted_removal_is_finished_later(lab: Lab) -> None:
    """A removal that is killed leaves no half record; the next one deletes what is left."""
    path, other = ended(lab, "a"), ended(lab, "b")
    dies = (
        "import os, gpualert_common.removal as r; r.remove_all = lambda fd: os.kill(os.getpid(), 9)"
    )
    done = lab.call((*breaking(dies), "rm", "--yes", "a"))
    assert done.returncode == -signal.SIGKILL
    assert not path.exists()
    (trash,) = (lab.state / "runs" / ".trash").iterdir()
    assert (trash / "verdict.json").exists()
    assert names(lab) == ["b"]
    assert lab.gpualert("rm", "--yes", "b").returncode == 0
    assert not other.exists()
    assert not lab.records()


def test_two_removals_at_once(lab: Lab) -> None:
    """Two removals of the same runs at the same time remove each of them once."""
    source = ended(lab, "a", days=9)
    for number in range(100):
        shutil.copytree(source, source.with_name(f"20200101-000000-{number:06d}-aaaa"))
    command = (*PROGRAM, "prune", "--older-than", "1d", "--yes", "--json")
    both = [lab.start(command, stdout=subprocess.PIPE) for _process in range(2)]
    removed = [json.loads(process.communicate()[0])["removed"] for process in both]
    assert sorted(removed[0] + removed[1]) == sorted(set(removed[0]) | set(removed[1]))
    assert len(removed[0] + removed[1]) == 101
    assert not lab.records()


# -- prune -------------------------------------------------------------------------------------


def test_prune(lab: Lab) -> None:
    """``prune`` removes the runs that ended before a time; the history keeps their rows."""
    for name, days in (("old", 40), ("older", 50), ("new", 1)):
        ended(lab, name, days=days)
    rebuild(str(lab.state))
    rows = History.open(str(lab.state)).read_all()
    assert len(rows) == 3
    done = lab.gpualert("prune", "--older-than", "30d")
    assert (done.returncode, names(lab)) == (0, ["old", "older", "new"])
    assert b"to remove: 2 runs, " in done.stdout
    done = lab.gpualert("prune", "--older-than", "30d", "--yes")
    assert (done.returncode, names(lab)) == (0, ["new"])
    assert History.open(str(lab.state)).read_all() == rows
    done = lab.gpualert("prune", "--older-than", "30d", "--yes")
    assert (done.returncode, done.stderr) == (0, b"no run to remove\n")


def test_prune_keeps(lab: Lab) -> None:
    """--keep-failed keeps the runs that ended badly, --name those of other names."""
    for name, program in (("a1", "true"), ("a2", "false"), ("b1", "true"), ("b2", "false")):
        ended(lab, name, program, days=40)
    command = ("prune", "--older-than", "30d", "--yes")
    assert lab.gpualert(*command, "--keep-failed", "--name", "a*").returncode == 0
    assert names(lab) == ["a2", "b1", "b2"]
    assert lab.gpualert(*command, "--name", "a2").returncode == 0
    assert names(lab) == ["b1", "b2"]
    assert lab.gpualert(*command, "--keep-failed").returncode == 0
    assert names(lab) == ["b2"]


def test_prune_names_what_it_keeps(lab: Lab) -> None:
    """``prune`` removes what it can, and names each old run that it keeps, with the reason."""
    ended(lab, "a", "false", days=40, notify="command:/bin/false")
    ended(lab, "b", days=40)
    done = lab.gpualert("prune", "--older-than", "30d", "--yes")
    assert done.returncode == 0
    assert b"is kept: its alert to command-" in done.stderr
    assert names(lab) == ["a"]


@pytest.mark.parametrize("arguments", [(), ("--older-than", "soon"), ("--older-than", "1.5")])
def test_prune_needs_a_time(lab: Lab, arguments: tuple[str, ...]) -> None:
    """``prune`` without a time, or with a wrong one, removes nothing."""
    path = ended(lab, "a", days=1000)
    assert lab.gpualert("prune", "--yes", *arguments).returncode == 2
    assert lab.records() == [path]


# -- engines -----------------------------------------------------------------------------------


def take(lab: Lab, number: int) -> RunHandle:
    """Return the handle of an attempt at a task."""
    attempt = Attempt(("task",), number=number, adopt_within_s=60.0, lease_s=1.0)
    return RunHandle.launch(RunSpec(python("print(1)"), state_dir=str(lab.state)), attempt)


def test_next_attempt_after_a_removal(lab: Lab) -> None:
    """After the removal of a task's last run the next attempt launches a new one."""
    with take(lab, 1) as handle:
        assert handle.wait().exit_code == 0
        until(lambda: not handle.record.is_held, "the guardian to end")
        run_id = handle.run_id
    assert lab.gpualert("rm", "--yes", run_id).returncode == 0
    with take(lab, 2) as handle:
        assert handle.origin == "launched"
        assert handle.wait().exit_code == 0


def test_result_that_no_task_has_taken(lab: Lab) -> None:
    """The record of a run whose result the next attempt will take is kept, unless --force."""
    with take(lab, 1) as handle:
        record = handle.record
    until(lambda: record.ending is not None and not record.is_held, "the guardian to end")
    refused(lab, record.run_id, words="no task has taken its result yet")
    assert lab.gpualert("rm", "--yes", "--force", record.run_id).returncode == 0
