"""Culprits: the ranks that others wait for, as far as the stacks of one machine show them.

Without ranks, the processes that run one program beside each other count.

A rank that is in a collective operation, or waits for others to join, waits for its peers.  The
ranks that are elsewhere are those that it waits for.  Where all ranks wait for each other, either
they are in different operations, or the one they wait for is on another machine.  A rank that the
launcher announced and that no process has is gone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gpualert_common.stacks.activities import StackActivity
from gpualert_common.stacks.dump import Dump, ProcessStack, WaitKind
from gpualert_common.stacks.groups import Group, rank_of
from gpualert_common.structs import Struct, replace

_WAITS_FOR_PEERS = frozenset((StackActivity.COLLECTIVE, StackActivity.RENDEZVOUS))
_FLAG = re.compile(r"-[bBEIOqsSuv]+")
"""Options of Python without a value."""
_MAY_WAIT = frozenset((StackActivity.BACKWARD, StackActivity.RESULT))
"""Activities in which a rank waits for its peers, or for its own threads or GPU."""
_CANNOT_WAIT = frozenset((WaitKind.STOPPED, WaitKind.DEBUGGER, WaitKind.EXITED))


class Culprits(Struct, frozen=True):
    """The result: ``groups`` of ranks that the others wait for, and ranks that are ``missing``.

    ``waiting`` are the groups that wait for them.  ``is_mismatch`` says that all ranks wait, but in
    different operations.  All are empty where the stacks show no rank that waits for another one.
    """

    groups: tuple[Group, ...] = ()
    waiting: tuple[Group, ...] = ()
    missing: tuple[int, ...] = ()
    is_mismatch: bool = False


def find_culprits(dump: Dump, groups: Sequence[Group]) -> Culprits:
    """Return the ranks of a dump that the others wait for."""
    ranked = [group for group in groups if group.is_ranked] or _find_peers(dump, groups)
    waiting = [group for group in ranked if _waits_for_peers(group, is_strict=True)]
    others = [group for group in ranked if group not in waiting]
    likely = [group for group in others if _waits_for_peers(group, is_strict=False)]
    if len(others) > len(likely):  # a backward pass may wait for a rank that certainly does not
        waiting += likely
        others = [group for group in others if group not in likely]
    elif not waiting:
        others = []
    missing = find_missing(dump.processes)
    if not waiting:
        return Culprits(missing=missing)
    if others or missing:
        return Culprits(tuple(others), tuple(waiting), missing)
    operations = {group.operation for group in waiting if group.activity in _WAITS_FOR_PEERS}
    return Culprits(waiting=tuple(waiting), is_mismatch=len(operations) > 1)


def find_missing(processes: Sequence[ProcessStack]) -> tuple[int, ...]:
    """Return the ranks of this machine that the launcher announced and that have no process."""
    ranks = {}
    for one in processes:
        if one.local_rank is not None and one.local_world_size and rank_of(one):
            ranks[int(rank_of(one))] = one
    if not ranks:
        return ()
    expected: set[int] = set()
    for rank, one in ranks.items():
        first = rank - (one.local_rank or 0)
        expected |= set(range(first, first + (one.local_world_size or 0)))
    return tuple(sorted(expected - ranks.keys()))


def _waits_for_peers(group: Group, *, is_strict: bool) -> bool:
    main = group.processes[0].main
    if main.wait.kind in _CANNOT_WAIT:
        return False
    if group.activity in _WAITS_FOR_PEERS:
        return True
    is_idle = main.wait.kind in (WaitKind.LOCK, WaitKind.EVENTS, WaitKind.SOCKET)
    return not is_strict and group.activity in _MAY_WAIT and is_idle


def _find_peers(dump: Dump, groups: Sequence[Group]) -> list[Group]:
    """Return the groups of the processes that run the same program as one that waits for peers.

    A launcher and what these processes start themselves are left out.
    """
    processes = {one.pid: one for one in dump.processes}
    waiting = [
        one
        for group in groups
        if group.activity in _WAITS_FOR_PEERS | _MAY_WAIT
        for one in group.processes
    ]
    programs, parents = {program_of(one) for one in waiting}, {one.parent for one in waiting}
    names = {one.name for one in waiting}
    launchers = {pid for one in waiting for pid in _list_ancestors(one, processes)}
    same = {
        one.pid
        for one in dump.processes
        if one.pid not in launchers
        and (
            program_of(one) in programs
            or (has_exited(one) and one.parent in parents and one.name in names)
        )
    }
    peers = {
        pid for pid in same if not same.intersection(_list_ancestors(processes[pid], processes))
    }
    kept = [
        replace(group, processes=tuple(one for one in group.processes if one.pid in peers))
        for group in groups
        if group.activity is not StackActivity.WORKER
    ]
    return [group for group in kept if group.processes]


def has_exited(process: ProcessStack) -> bool:
    """Return whether a process has exited and was not reaped."""
    return process.main.wait.kind is WaitKind.EXITED


def program_of(process: ProcessStack) -> str:
    """Return the program of a process, with its script or the code that it runs."""
    words = [word for word in process.command.split() if not _FLAG.fullmatch(word)]
    has_option = len(words) > 1 and words[1].startswith("-")
    return " ".join(words[: 5 if has_option else 2])


def _list_ancestors(process: ProcessStack, processes: Mapping[int, ProcessStack]) -> list[int]:
    found: list[int] = []
    above = processes.get(process.parent)
    while above is not None and above.pid not in found:
        found.append(above.pid)
        above = processes.get(above.parent)
    return found
