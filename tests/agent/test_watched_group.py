"""One group of processes that the agent watches, and what is left of it afterwards."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpualert_common import recover
from gpualert_common.agent.foreign_process import read_foreign_process
from gpualert_common.agent.gpu_agent import MOST_GROUPS, has_room
from gpualert_common.agent.group_stop import STOP_THREAD
from gpualert_common.agent.grouping import FoundGroup, GroupKey, GroupKind
from gpualert_common.agent.output_files import open_log, open_outputs
from gpualert_common.agent.watch_begin import begin_watch
from gpualert_common.agent.watched_group import WatchedGroup
from gpualert_common.agent.watched_records import list_unended
from gpualert_common.errors import UsageError
from gpualert_common.model import RecoveryOutcome
from gpualert_common.processes.tree import TreeOfLeaders
from gpualert_common.profile_request import take_profile
from gpualert_common.profiles.py_spy_sampler import SamplingOptions
from gpualert_common.record import EVENTS, EXIT, Record
from gpualert_common.settings import load_settings
from gpualert_common.stack_request import take_stacks
from gpualert_common.stacks.storage import read_dumps
from gpualert_common.stop_request import StopResult, make_sender, stop_run
from tests.supervised import Lab, exit_of, is_alive, python, until


def count_resources() -> tuple[int, int]:
    """Return the number of descriptors and of threads of this process."""
    gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count()


@contextmanager
def nothing_left() -> Iterator[None]:
    """Fail unless the block leaves as many descriptors and threads as there were."""
    before = count_resources()
    yield
    until(lambda: count_resources() <= before, f"{count_resources()} to be {before}")


@pytest.mark.parametrize(
    ("own", "others", "is_room"),
    [(31, 0, True), (32, 0, False), (31, 32, True), (31, 33, False), (0, 63, True), (0, 64, False)],
)
def test_places_of_a_user(own: int, others: int, is_room: bool) -> None:
    """One user does not take the places of all others."""
    uid = os.geteuid() + 1
    assert has_room([uid] * own + [uid + 1] * others, uid) is is_room


def test_places_of_the_agent_itself() -> None:
    """The user of the agent may have all places."""
    assert has_room([os.geteuid()] * (MOST_GROUPS - 1), os.geteuid())
    assert not has_room([os.geteuid()] * MOST_GROUPS, os.geteuid())


def begin(lab: Lab, pid: int) -> WatchedGroup:
    """Begin to watch a process."""
    leader = read_foreign_process(pid)
    group = FoundGroup(GroupKey(GroupKind.TREE, str(pid)), leader)
    settings = load_settings({"state_dir": str(lab.state), "notify": ["none"]})
    return begin_watch(group, open_outputs(leader), settings)


@pytest.fixture
def rank(lab: Lab, request: pytest.FixtureRequest) -> Iterator[int]:
    """The number of a rank whose stdout is a file or a pipe."""
    variables = {**os.environ, "RANK": "0", "LOCAL_RANK": "0"}
    with open(lab.home / "train.log", "wb") as file:
        stdout = file if request.param == "file" else subprocess.PIPE
        process = lab.start(("sleep", "600"), env=variables, stdout=stdout, stderr=stdout)
    yield process.pid
    process.kill()
    process.communicate()


@pytest.mark.parametrize("rank", ["file", "pipe"], indirect=True)
def test_nothing_stays_open(lab: Lab, rank: int) -> None:
    """A group that is no longer watched leaves no descriptor and no thread in the agent."""
    begin(lab, rank).close()  # what is imported and cached stays
    with nothing_left():
        group = begin(lab, rank)
        for _turn in range(2):
            group.request((), {})
            group.collect(time.monotonic() + 10.0)
        group.close()
        group.close()
        del group


@pytest.mark.parametrize("rank", ["file", "pipe"], indirect=True)
def test_nothing_stays_open_after_an_error(lab: Lab, rank: int) -> None:
    """An attempt that fails, again and again, leaves no descriptor and no thread."""
    watched = begin(lab, rank)
    with nothing_left():
        for _attempt in range(5):
            with pytest.raises(UsageError, match="already watched"):
                begin(lab, rank)
    assert len(list(Path(lab.state, "runs").iterdir())) == 1
    watched.close()


@pytest.mark.parametrize("is_seen", [True, False])
@pytest.mark.parametrize("rank", ["pipe"], indirect=True)
def test_several_processes_of_a_group(lab: Lab, rank: int, is_seen: bool) -> None:
    """A watch that continues with one process of a group is about the same record, and knows how
    the others ended, or that it does not know it."""
    other = lab.start(("cat",), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    group = begin(lab, rank)
    group.add_top(other.pid, read_foreign_process(other.pid).start_ticks)
    if not is_seen:
        group.close()
    os.kill(rank, signal.SIGKILL)
    until(lambda: not is_alive(rank), "the end of the leader")
    if is_seen:
        group.check_tops()
        group.close()
    else:
        os.waitpid(rank, 0)
    assert [pid for (pid, _start), _output in list_unended(str(lab.state))] == [other.pid]
    again = begin(lab, other.pid)
    assert again.record.path == group.record.path
    other.communicate()
    until(lambda: not is_alive(other.pid), "the end of the other one")
    again.check_tops()
    assert again.has_ended
    again.finish()
    assert exit_of(again.record)["code"] == (-signal.SIGKILL if is_seen else None)


def begin_with_other(lab: Lab, rank: int) -> tuple[WatchedGroup, subprocess.Popen[bytes]]:
    """Begin to watch a process, and another one that it did not start."""
    other = lab.start(("sleep", "600"))
    group = begin(lab, rank)
    group.add_top(other.pid, read_foreign_process(other.pid).start_ticks)
    return group, other


@pytest.mark.parametrize("rank", ["pipe"], indirect=True)
def test_live_group_is_not_completed(lab: Lab, rank: int) -> None:
    """A group goes on while one of its processes lives, also without its first one and an agent:
    nothing completes its record, and a person can stop it."""
    group, other = begin_with_other(lab, rank)
    group.close()
    os.kill(rank, signal.SIGKILL)
    os.waitpid(rank, 0)
    record = Record.open(group.record.path)
    assert not recover.is_abandoned(record)
    assert recover.recover(record) is RecoveryOutcome.RUNNING
    record.release_own_lock()
    assert not record.has(EXIT)
    assert stop_run(record, make_sender("test"), 5.0).result is StopResult.ENDED
    assert other.wait() == -signal.SIGTERM
    assert exit_of(record)["signal"] == signal.SIGTERM


@pytest.mark.parametrize("rank", ["pipe"], indirect=True)
def test_stacks_of_all_processes(lab: Lab, rank: int) -> None:
    """A dump has the processes of a group that nothing but the record connects, without those that
    have ended."""
    group, other = begin_with_other(lab, rank)
    code = "import sys; from gpualert_common.stacks.dump_program import main; main(*sys.argv[1:])"
    lab.call((*python(code), group.record.path, "test", ""))
    (dump,) = read_dumps(group.record)
    assert {one.pid for one in dump.processes} == {rank, other.pid}
    os.kill(rank, signal.SIGKILL)
    os.waitpid(rank, 0)
    assert [one.pid for one in take_stacks(group.record).processes] == [other.pid]
    group.close()


@pytest.mark.e2e
def test_profile_of_all_ranks(lab: Lab) -> None:
    """A profile has the ranks of a group that nothing but the record connects."""
    code = "print(flush=True)\nwhile True: pass"
    first, second = (
        lab.start(python(code), env={**os.environ, "RANK": rank}, stdout=subprocess.PIPE)
        for rank in "01"
    )
    for one in (first, second):
        assert one.stdout is not None
        assert one.stdout.readline()
    group = begin(lab, first.pid)
    group.add_top(second.pid, read_foreign_process(second.pid).start_ticks)
    taken = take_profile(group.record, SamplingOptions(duration_s=0.5))
    assert [(one.pid, one.problem) for one in taken.profile.ranks] == [
        (first.pid, ""),
        (second.pid, ""),
    ]
    group.close()


def test_number_of_a_leader_that_is_used_again(lab: Lab) -> None:
    """A process with the number of a leader that has ended is none of the run."""
    run = lab.launch("sleep", "600")
    stranger = lab.start(("sleep", "600"))
    events = Path(run.record.path) / EVENTS
    events.write_text(events.read_text().replace(f'"pid": {run.leader}', f'"pid": {stranger.pid}'))
    assert run.record.leader_pid == stranger.pid
    assert [one.pid for one in take_stacks(run.record).processes] == [run.leader]
    start_ticks = read_foreign_process(stranger.pid).start_ticks
    tree = TreeOfLeaders([(stranger.pid, start_ticks - 1)], "no marker")
    assert tree.members() == tree.first_targets() == []


IGNORES_TERM = "trap '' TERM; echo $$; exec sleep 600"


def start_stubborn(lab: Lab, script: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start a script that prints the number of a process which ignores SIGTERM; return both."""
    process = lab.start(("sh", "-c", script), stdout=subprocess.PIPE)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def start_with_number(lab: Lab, pid: int) -> subprocess.Popen[bytes]:
    """Start a process with a number that is free."""
    for _try in range(1000):
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
        process = lab.start(("sleep", "600"))
        if process.pid == pid:
            return process
        process.kill()
        process.wait()
    raise AssertionError(f"{pid} is in use")


def is_stopping() -> bool:
    """Return whether the stop of a group is in progress."""
    return any(thread.name == STOP_THREAD for thread in threading.enumerate())


@pytest.mark.e2e
def test_stop_spares_a_new_process(lab: Lab) -> None:
    """A process that gets the number of a stopped one during the grace is not signalled."""
    leader, child = start_stubborn(
        lab, f'sh -c "{IGNORES_TERM.replace("$", chr(92) + "$")}" & wait'
    )
    group = begin(lab, leader.pid)
    group.record.request("stop", grace_s=2.0, sender={})
    group.take_requests()
    assert leader.wait() == -signal.SIGTERM
    stranger = start_with_number(lab, leader.pid)
    assert is_stopping()
    until(lambda: not is_stopping(), "the end of the stop")
    assert is_alive(stranger.pid)
    os.kill(child, signal.SIGKILL)
    group.close()


def test_stop_is_continued(lab: Lab) -> None:
    """A watch that is started again within the grace kills what is left at its end, and the record
    names who stopped it."""
    leader, pid = start_stubborn(lab, IGNORES_TERM)
    assert leader.pid == pid
    group = begin(lab, pid)
    sender = {"user": "ada", "pid": 1}
    group.record.append_event("stopping", signal=15, sender=sender, grace_s=0.5)
    group.close()
    again = begin(lab, pid)
    until(lambda: not is_alive(pid), "the kill")
    again.check_tops()
    again.finish()
    ending = exit_of(again.record)
    assert (ending["code"], ending["signal"]) == (-signal.SIGKILL, signal.SIGTERM)
    assert ending["sender"] == sender


@pytest.mark.parametrize("rank", ["pipe"], indirect=True)
def test_output_that_is_readable_later(lab: Lab, rank: int) -> None:
    """A watch that continues an earlier one says in the record what it knows of the output."""
    group = begin(lab, rank)
    assert group.record.spec.unread_output is not None
    group.close()
    leader = read_foreign_process(rank)
    (lab.home / "own.log").touch()
    outputs = open_log(str(lab.home / "own.log"), leader)
    settings = load_settings({"state_dir": str(lab.state)})
    again = begin_watch(group.group, outputs, settings)
    assert again.record.path == group.record.path
    assert again.record.spec.unread_output is None
    again.close()
