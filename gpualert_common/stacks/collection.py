"""Taking a dump of all processes of a run, from outside, within limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from gpualert_common.processes.host import host_name
from gpualert_common.processes.procfs import ProcessStat, read, read_command
from gpualert_common.processes.ranks import RankProcesses, find_leader_worker, read_identity
from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.stacks import py_spy
from gpualert_common.stacks.descriptors import DescriptorReader
from gpualert_common.stacks.dump import Dump, ProcessStack, StackFrame, Thread, Wait, WaitKind
from gpualert_common.stacks.py_spy import PythonStacks, PythonThread
from gpualert_common.stacks.source_lines import add_code
from gpualert_common.stacks.waits import read_wait
from gpualert_common.structs import Struct, replace

MOST_PROCESSES = 256
_AT_ONCE = 8
"""Processes of py-spy at a time: each mostly reads memory."""
_MOST_COMMAND_CHARS = 200
_FORKED = 0x40
"""Flag PF_FORKNOEXEC of the kernel (``include/linux/sched.h``)."""
_FLAGS_FIELD = 6
"""Index of the flags in /proc/PID/stat, counted after the name."""
_FRAGILE = frozenset((WaitKind.STOPPED, WaitKind.DEBUGGER, WaitKind.EXITED, WaitKind.FILE))
"""States in which a process is not paused: it may never continue, another one traces it, or it
stops only once a disk has answered."""


class DumpOptions(Struct, frozen=True):
    """Options of a dump: ``reason`` is for people; native frames pause each process longer."""

    reason: str
    is_pausing: bool = False
    with_native: bool = False
    most_processes: int = MOST_PROCESSES


def take_dump(tree: SampledTree, options: DumpOptions) -> Dump:
    """Return the stacks of all processes of a run.

    Raises OSError when descriptors ran out.
    """
    at, began = time.time(), time.monotonic()
    members = tree.members()
    labels = find_labels(tree.leader, members)
    chosen = _choose(members, labels, options.most_processes)
    descriptors = DescriptorReader({one.pid: _name(one, labels) for one in members.values()})
    problem, remedy = py_spy.find_obstacle()

    def examine(one: ProcessStat) -> tuple[ProcessStack, dict[int, tuple[StackFrame, ...]]]:
        return _examine(one, labels.get(one.pid, ""), options, descriptors, bool(problem))

    with ThreadPoolExecutor(_AT_ONCE, "gpualert-stacks") as pool:
        examined = list(pool.map(examine, chosen))
    processes, stacks = _share_stacks(examined)
    waits_for_files = any(one.main.wait.kind is WaitKind.FILE for one in processes)
    stacks = add_code(stacks, _find_users(processes), is_local_only=waits_for_files)
    return Dump(
        at=at,
        host=host_name(),
        reason=options.reason,
        took_ms=round((time.monotonic() - began) * 1000),
        processes=processes,
        stacks=stacks,
        left_out=len(members) - len(chosen),
        problem=problem,
        remedy=remedy,
    )


def find_labels(leader: int, members: Mapping[int, ProcessStat]) -> dict[int, str]:
    """Return the rank of each process that is one; "leader" for the program of a run without."""
    ranks = RankProcesses().find_workers(members, most=MOST_PROCESSES)
    if ranks:
        return {one.pid: label for label, one in ranks.items()}
    worker = find_leader_worker(leader, members)
    return {} if worker is None else {worker.pid: "leader"}


def is_fragile(wait: Wait) -> bool:
    """Return whether a process with this wait is not paused."""
    return wait.kind in _FRAGILE or wait.is_uninterruptible


def _name(one: ProcessStat, labels: Mapping[int, str]) -> str:
    label = labels.get(one.pid, "")
    shown = f"{label.replace(':', ' ')}, " if ":" in label else ""
    return f"{shown}process {one.pid} ({one.name})"


def _choose(
    members: Mapping[int, ProcessStat], labels: Mapping[int, str], most: int
) -> list[ProcessStat]:
    """Return the processes to examine: ranks first, then by memory, in order of their numbers."""
    ranked = sorted(members.values(), key=lambda one: (one.pid not in labels, -one.rss_bytes))
    return sorted(ranked[:most], key=lambda one: one.pid)


def _examine(
    one: ProcessStat,
    label: str,
    options: DumpOptions,
    descriptors: DescriptorReader,
    is_hidden: bool,
) -> tuple[ProcessStack, dict[int, tuple[StackFrame, ...]]]:
    """Return a process, and the frames of its threads by their numbers."""
    wait = read_wait(one.pid, one.pid, descriptors)  # before a pause, after which it runs again
    is_pausing = (options.is_pausing or options.with_native) and not is_fragile(wait)
    found = PythonStacks()
    libraries = read(f"/proc/{one.pid}/maps")
    if b"python" in libraries and not is_hidden:
        found = py_spy.read_python_stacks(
            one.pid, is_pausing=is_pausing, with_native=options.with_native and is_pausing
        )
    elif not libraries and wait.kind is not WaitKind.EXITED:
        found = PythonStacks(problem=py_spy.explain_refusal(one.pid))
    threads = _list_threads(
        one, wait, found.threads, lambda tid: read_wait(one.pid, tid, descriptors)
    )
    identity = read_identity(one)
    process = ProcessStack(
        pid=one.pid,
        name=one.name,
        parent=one.parent,
        threads=tuple(threads),
        label=label,
        command=_show_command(one.pid),
        gpus=str(identity.get("visible_gpus", "")),
        local_rank=_get_number(identity, "local_rank"),
        local_world_size=_get_number(identity, "local_world_size"),
        world_size=_get_number(identity, "world_size"),
        thread_count=one.threads,
        is_fork=_is_fork(one.pid),
        has_jax=b"/jaxlib/" in libraries,
        cpu_s=round(one.cpu_s, 2),
        problem=found.problem,
        paused_ms=found.took_ms if is_pausing else 0,
    )
    return process, {thread.tid: thread.frames for thread in found.threads}


def _list_threads(
    one: ProcessStat,
    wait: Wait,
    threads: Iterable[PythonThread],
    read_other: Callable[[int], Wait],
) -> list[Thread]:
    """Return the threads of Python, the main thread first, also where Python has none."""
    by_tid = {thread.tid: thread for thread in threads}
    main = by_tid.pop(one.pid, None)
    name, holds_gil = (one.name, False) if main is None else (main.name, main.holds_gil)
    found = [Thread(one.pid, name, wait, None, holds_gil)]
    for tid, thread in by_tid.items():
        found.append(Thread(tid, thread.name, read_other(tid), None, thread.holds_gil))
    return found


def _share_stacks(
    examined: Iterable[tuple[ProcessStack, Mapping[int, tuple[StackFrame, ...]]]],
) -> tuple[tuple[ProcessStack, ...], tuple[tuple[StackFrame, ...], ...]]:
    """Return the processes with the indices of their stacks, and the distinct stacks."""
    indices: dict[tuple[StackFrame, ...], int] = {}
    processes = []
    for process, frames in examined:
        threads = []
        for thread in process.threads:
            stack = frames.get(thread.tid)
            index = indices.setdefault(stack, len(indices)) if stack else None
            threads.append(replace(thread, stack=index))
        processes.append(replace(process, threads=tuple(threads)))
    return tuple(processes), tuple(indices)


def _find_users(processes: Iterable[ProcessStack]) -> dict[int, int]:
    """Return a process that has each stack, by the index of the stack."""
    return {
        thread.stack: one.pid
        for one in processes
        for thread in one.threads
        if thread.stack is not None
    }


def _show_command(pid: int) -> str:
    text = " ".join(read_command(pid)).encode("utf-8", "replace").decode().strip()
    return text if len(text) <= _MOST_COMMAND_CHARS else text[: _MOST_COMMAND_CHARS - 1] + "…"


def _is_fork(pid: int) -> bool:
    fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return len(fields) > _FLAGS_FIELD and bool(int(fields[_FLAGS_FIELD]) & _FORKED)


def _get_number(identity: Mapping[str, int | str], name: str) -> int | None:
    value = identity.get(name)
    return value if isinstance(value, int) else None
