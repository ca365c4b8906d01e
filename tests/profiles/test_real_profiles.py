"""Profiles of real processes by the command ``gpualert profile``."""

from __future__ import annotations

import gzip
import json
import os
import signal
from pathlib import Path

import pytest

from gpualert_common.cli.arguments import build_parser
from gpualert_common.cli.commands import profile
from gpualert_common.errors import UsageError
from gpualert_common.processes.procfs import read_stat
from gpualert_common.profiles.profile import TreeKind
from gpualert_common.profiles.profile_files import PICTURE, PROFILES, SPEEDSCOPE, store_profile
from gpualert_common.profiles.thread_choice import MOST_THREADS
from gpualert_common.record import Record
from tests.profiles.composed_profiles import LOADING, make_profile
from tests.profiles.profiled_runs import (
    RANKS,
    await_py_spy,
    find_rank,
    launch,
    list_shares,
    read_profile,
    start_profile,
    take,
)
from tests.supervised import PYTHON, Lab, breaking, python, shell, until

SIGMAS = 5


def test_known_shares(lab: Lab) -> None:
    """The share of each function is its share of the time, within the noise of the samples.

    Threads that only wait are shown on request.
    """
    launch(lab)
    value, taken = take(lab, "--duration", "1500ms", "--rate", "200")
    (tree,) = taken.trees
    shares, samples = list_shares(taken, tree), tree.samples[0]
    assert samples > 100
    for name, share in (("most", 0.6), ("some", 0.3), ("little", 0.1)):
        noise = (share * (1 - share) / samples) ** 0.5
        found = shares[f"work_alone.<locals>.{name}"]
        assert abs(found - share) <= SIGMAS * noise, (name, found, samples)
    assert taken.idle_threads == 1
    assert taken.ranks[0].number is None
    assert value["summary"].startswith("the program spends")
    _value, taken = take(lab, "--duration", "300ms", "--idle")
    assert [(one.kind, one.thread) for one in taken.trees] == [
        (TreeKind.MAIN, ""),
        (TreeKind.THREAD, "waits"),
    ]


def test_slow_rank(lab: Lab) -> None:
    """The rank that differs is named with its place, and its worker is profiled beside it."""
    run = launch(lab, "3", "2", ranks=3)
    value, taken = take(lab, "--duration", "1s")
    (found,) = value["differences"]
    assert (found["ranks"], found["frame"]["function"]) == ([2], "read_from_storage")
    assert value["summary"].startswith("rank 2 spends ")
    assert [one.workers for one in taken.ranks] == [1, 1, 1]
    assert "prepare_batches" in list_shares(taken, taken.trees[1], 2)
    done = lab.gpualert("profile", "--stored", "-o", "profile.json")
    assert b"Rank 2 spends " in done.stdout
    assert "profiles" in json.loads((lab.home / "profile.json").read_text())
    folder = Path(value["path"])
    assert folder.parent == Path(run.record.path, PROFILES)
    assert "read_from_storage" in (folder / PICTURE).read_text()
    assert json.loads(gzip.decompress((folder / SPEEDSCOPE).read_bytes()))["profiles"]


@pytest.mark.nightly
def test_chosen_ranks(lab: Lab) -> None:
    """Only the chosen ranks are sampled, and ranks that do not exist are an error."""
    launch(lab, "3", "9", ranks=3)
    _value, taken = take(lab, "--duration", "300ms", "--ranks", "0,2")
    assert [one.number for one in taken.ranks] == [0, 2]
    done = lab.gpualert("profile", "--ranks", "7")
    assert done.returncode == 2
    assert b"no rank 7" in done.stderr


def test_rank_that_ends(lab: Lab) -> None:
    """A rank that ends meanwhile says so, and the others have their whole profile."""
    run = launch(lab, "3", "9", ranks=3)
    pid = find_rank(run, 1)
    command = start_profile(lab, "--duration", "1s")
    await_py_spy(pid)
    os.kill(pid, signal.SIGKILL)
    output, errors = command.communicate(timeout=60)
    assert command.returncode == 0, errors
    taken = read_profile(output)
    problems = [one.problem for one in taken.ranks]
    assert problems[0] == problems[2] == ""
    assert "ended" in problems[1]
    assert min(taken.ranks[0].samples, taken.ranks[2].samples) > 20


def test_stopped_rank(lab: Lab) -> None:
    """A rank that a signal has stopped is sampled, stays stopped, and can go on after it.

    With native frames, for which the other one is paused, as well.
    """
    run = launch(lab, "2", "9", ranks=2)
    pid = find_rank(run, 1)
    os.kill(pid, signal.SIGSTOP)
    until(lambda: _get_state(pid) == "T", "the rank to be stopped")
    for options in ((), ("--native", "--rate", "100")):
        _value, taken = take(lab, "--duration", "400ms", *options)
        assert [one.problem for one in taken.ranks] == ["", "a signal has stopped it"]
        assert taken.ranks[1].samples > 10
        assert _get_state(pid) == "T"
        has_native = any(one.file and not one.file.endswith(".py") for one in taken.frames)
        assert has_native == taken.is_pausing == bool(options)
    os.kill(pid, signal.SIGCONT)
    until(lambda: _get_state(pid) in "RS", "the rank to go on")


def _get_state(pid: int) -> str:
    stat = read_stat(pid)
    assert stat is not None
    return stat.state


def test_program_without_python(lab: Lab) -> None:
    """A run without Python has no profile, and the command says why."""
    run = lab.launch(*shell("echo ready; exec sleep 1000"))
    run.wait_for_output(b"ready")
    done = lab.gpualert("profile", "--json")
    assert done.returncode == 2
    assert b"no stacks: it runs no Python" in done.stderr
    assert done.stdout == b""


def test_run_that_has_ended(lab: Lab) -> None:
    """A run that ended without a profile is an error that says so."""
    lab.run(*shell("true"))
    done = lab.gpualert("profile")
    assert done.returncode == 2
    assert b"its record has no profile, and it has ended" in done.stderr


def test_without_py_spy(lab: Lab) -> None:
    """Without py-spy the command names the extra to install."""
    launch(lab)
    hidden = "import sysconfig; sysconfig.get_path = lambda _name: '/nonexistent'"
    done = lab.call((*breaking(hidden), "profile"), env={**os.environ, "PATH": "/nonexistent"})
    assert done.returncode == 2
    assert b"pip install 'gpualert-common[stacks]'" in done.stderr


def test_many_threads(lab: Lab) -> None:
    """The main thread has its samples also beside more threads than a profile has."""
    code = """
import threading
def work():
    while True:
        sum(range(200))
for _ in range(70):
    threading.Thread(target=threading.Event().wait, daemon=True, name="waits").start()
print("ready", flush=True)
work()
"""
    run = lab.launch(*python(code))
    run.wait_for_output(b"ready")
    _value, taken = take(lab, "--duration", "300ms", "--idle")
    assert [one.kind for one in taken.trees] == [TreeKind.MAIN, TreeKind.THREAD]
    assert "work" in list_shares(taken, taken.trees[0])
    assert taken.left_out_threads == 71 - MOST_THREADS


def test_record_that_takes_no_file(lab: Lab) -> None:
    """A profile that cannot be stored is shown all the same, and the reason is named."""
    run = launch(lab)
    Path(run.record.path, PROFILES).write_text("")
    done = lab.gpualert("profile", "--duration", "300ms", "--json")
    assert done.returncode == 0
    assert b"the profile is not stored in" in done.stderr
    assert json.loads(done.stdout)["path"] is None


def test_output_that_cannot_be_written(lab: Lab) -> None:
    """A profile is shown also if the file for it cannot be written, and that is an error."""
    lab.run(*shell("true"))
    store_profile(Record.open(str(lab.records()[0])), make_profile({LOADING: 100}, {LOADING: 100}))
    done = lab.gpualert("profile", "--stored", "-o", "missing/flame.svg")
    assert done.returncode == 2
    assert b"load_batch" in done.stdout
    assert b"missing/flame.svg: not written" in done.stderr


def test_hostile_names(lab: Lab) -> None:
    """Names of functions and threads that are no names harm neither terminal nor picture."""
    name = "<script>alert(1)</script>\\x1b[31m;"
    code = f"""
import threading, types
def work():
    while True:
        sum(range(200))
code = work.__code__.replace(co_name="{name}", co_qualname="{name}", co_filename="{name}.py")
print("ready", flush=True)
threading.Thread(target=types.FunctionType(code, globals()), name="{name}").start()
"""
    run = lab.launch(*python(code))
    run.wait_for_output(b"ready")
    done = lab.gpualert("profile", "--duration", "500ms", "-o", "flame.svg")
    assert done.returncode == 0, done.stderr
    assert b"<script>alert(1)</script>" in done.stdout
    assert b"\x1b" not in done.stdout
    picture = (lab.home / "flame.svg").read_text()
    assert "&lt;script&gt;alert(1)" in picture
    assert "<script>alert" not in picture


@pytest.mark.nightly
def test_detached_run(lab: Lab) -> None:
    """A run under a guardian is profiled as one under the command line."""
    done = lab.gpualert("run", "--detach", "--", PYTHON, RANKS)
    assert done.returncode == 0
    (path,) = lab.records()
    until(lambda: b"ready" in (path / "output.log").read_bytes(), "the program to be at work")
    _value, taken = take(lab, "--duration", "300ms")
    assert taken.ranks[0].samples > 5


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--duration", "0s"), "--duration: from 0.1s to 10m"),
        (("--duration", "2h"), "--duration: from 0.1s to 10m"),
        (("--duration", "5m", "--rate", "1000"), "at most 60,000 samples"),
        (("--rate", "0"), "--rate: from 1 to 1000"),
    ],
)
def test_impossible_options(options: tuple[str, ...], text: str) -> None:
    """Options beyond the limits are errors that name them."""
    with pytest.raises(UsageError, match=text):
        profile.execute(build_parser("profile").parse_args(["profile", *options]))


def test_interrupted_command(lab: Lab) -> None:
    """Ctrl-C ends the command and every py-spy that it started, and not the run."""
    run = launch(lab, "2", "9", ranks=2)
    pid = find_rank(run, 0)
    command = start_profile(lab, "--duration", "60s")
    await_py_spy(pid)
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=60)
    assert command.returncode == 130
    assert not [one for one in lab.living() if _is_py_spy(one)]
    assert run.process.poll() is None


def _is_py_spy(pid: int) -> bool:
    return b"py-spy" in Path(f"/proc/{pid}/cmdline").read_bytes()
