"""Tests of the processes that belong to a run."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from gpualert_common.processes.membership import find_members
from gpualert_common.processes.procfs import ProcessStat

LEADER, OTHER = 100, 500


def stat(pid: int, parent: int = 1, group: int = 0, session: int = 0) -> ProcessStat:
    """Return the status of a process, by default without a group and a session of the run."""
    fields = ["S", parent, group or pid, session or pid, *["0"] * 15, pid, "0", "0"]
    return ProcessStat(pid, f"{pid} (a) b) {' '.join(map(str, fields))}".encode())


def members(
    *stats: ProcessStat,
    leader: int | None = LEADER,
    known: Collection[int] = (),
    marked: Collection[int] = (),
) -> set[int]:
    """Return the members among these processes."""
    leaders = () if leader is None else (leader,)
    return find_members(
        {one.pid: one for one in stats}, leaders, known, lambda one: one.pid in marked
    )


@pytest.mark.parametrize(
    "process",
    [
        stat(LEADER),
        stat(OTHER, parent=LEADER),
        stat(OTHER, group=LEADER),
        stat(OTHER, session=LEADER),
    ],
    ids=["leader", "child", "group", "session"],
)
def test_the_leader_and_its_own(process: ProcessStat) -> None:
    """The leader, its children, its group and its session belong, even after the leader's end."""
    assert members(process, stat(7)) == {process.pid}


def test_descendants_of_members() -> None:
    """A child belongs to the run with its parent, in any order of the list."""
    chain = [stat(OTHER + n, parent=OTHER + n + 1) for n in range(5)]
    assert members(*chain, stat(OTHER + 5, parent=LEADER)) == set(range(OTHER, OTHER + 6))


def test_marked_processes_and_their_children() -> None:
    """A process with the marker belongs, and so does its child without it."""
    daemon = [stat(OTHER), stat(OTHER + 1, parent=OTHER), stat(7)]
    assert members(*daemon, marked=[OTHER]) == {OTHER, OTHER + 1}
    assert members(*daemon) == set()


def test_a_number_that_was_reused() -> None:
    """Without a live leader its number, group and session do not count; the marker does."""
    processes = [stat(LEADER), stat(OTHER, parent=LEADER), stat(OTHER + 1, session=LEADER)]
    assert members(*processes, leader=None) == set()
    assert members(*processes, leader=None, marked=[OTHER]) == {OTHER}


def test_known_members_stay() -> None:
    """The children of a known member are members."""
    processes = [stat(OTHER), stat(OTHER + 1, parent=OTHER), stat(7)]
    assert members(*processes, known=[OTHER]) == {OTHER, OTHER + 1}


def test_environments_are_read_last() -> None:
    """The marker is read only if no cheaper property decides."""
    asked = []

    def is_marked(one: ProcessStat) -> bool:
        asked.append(one.pid)
        return False

    processes = [stat(LEADER), stat(OTHER, parent=LEADER), stat(7)]
    find_members({one.pid: one for one in processes}, (LEADER,), (), is_marked)
    assert asked == [7]


def test_a_name_with_parentheses() -> None:
    """A name of any characters is parsed, since only the last parenthesis ends it."""
    assert (stat(LEADER).name, stat(LEADER).state, stat(LEADER).start_ticks) == ("a) b", "S", 100)
