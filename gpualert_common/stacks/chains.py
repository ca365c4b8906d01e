"""Chains of processes of a run, each of which waits for the next one."""

from __future__ import annotations

from collections.abc import Mapping

from gpualert_common.stacks.activities import StackActivity
from gpualert_common.stacks.culprits import has_exited, program_of
from gpualert_common.stacks.dump import Dump, ProcessStack, WaitKind
from gpualert_common.stacks.groups import activity_of

_MOST_LINKS = 5
_LINKS = frozenset((WaitKind.CHILD, WaitKind.PIPE, WaitKind.SOCKET))
_DATA = frozenset((WaitKind.PIPE, WaitKind.SOCKET))
_LASTING = frozenset((WaitKind.STOPPED, WaitKind.DEBUGGER, WaitKind.FILE))
"""Waits that explain by themselves why others wait."""


def find_program(dump: Dump) -> ProcessStack | None:
    """Return the program of a run without ranks, or who started it beside other processes, and
    waits for them."""
    processes = {one.pid: one for one in dump.processes}
    program = next((one for one in dump.processes if one.label == "leader"), None)
    if program is None or has_exited(program):
        return None
    above = processes.get(program.parent)
    if above is None or above.main.wait.kind is not WaitKind.CHILD:
        return program
    return above if len(_list_children(dump, above)) > 1 else program


def follow_waits(dump: Dump, first: ProcessStack) -> tuple[list[ProcessStack], ProcessStack | None]:
    """Return the chain from a process on, and the process in it for which its last one waits in
    turn; None if it waits for no process of the chain."""
    processes = {one.pid: one for one in dump.processes}
    chain = [first]
    while len(chain) < _MOST_LINKS:
        following = _find_next(dump, chain[-1], processes)
        if following is None or following in chain:
            dead = _find_dead_peer(dump, chain[-1])
            if dead is None:
                return chain, following
            following = dead
        chain.append(following)
    return chain, None


def _find_next(
    dump: Dump, process: ProcessStack, processes: Mapping[int, ProcessStack]
) -> ProcessStack | None:
    wait = process.main.wait
    if wait.process is not None and wait.kind in _LINKS and wait.process in processes:
        return processes[wait.process]
    children = _list_children(dump, process)
    if wait.kind is WaitKind.CHILD:
        return _choose_child(children)
    if activity_of(dump, process) not in (StackActivity.DATA, StackActivity.QUEUE):
        return None
    dead = [one for one in children if has_exited(one)]
    busy = [one for one in children if _is_in_own_code(dump, one)]
    return next(iter((*dead, *busy)), None)


def _choose_child(children: list[ProcessStack]) -> ProcessStack | None:
    """Return the child that its parent, and so all others, wait for: of those that run the same
    program as the working one, first those whose wait does not end by itself."""
    live = [one for one in children if not has_exited(one)]
    if not live:
        return None
    working = next((one for one in live if one.label == "leader"), live[0])
    same = [one for one in live if program_of(one) == program_of(working)]
    return next((one for one in same if one.main.wait.kind in _LASTING), working)


def _find_dead_peer(dump: Dump, process: ProcessStack) -> ProcessStack | None:
    """Return a process that was started beside one that waits for data, and that has exited."""
    if process.main.wait.kind not in _DATA:
        return None
    beside = [
        one
        for one in dump.processes
        if one.parent == process.parent and one.name == process.name and has_exited(one)
    ]
    return next(iter(beside), None)


def _list_children(dump: Dump, process: ProcessStack) -> list[ProcessStack]:
    return [one for one in dump.processes if one.parent == process.pid]


def _is_in_own_code(dump: Dump, process: ProcessStack) -> bool:
    frames = dump.frames(process.main)
    return bool(frames) and activity_of(dump, process) is not StackActivity.WORKER
