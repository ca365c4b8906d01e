"""Reasons of a hang: on what the process waits for which, in the end, all others wait.

The chain begins at the rank that its peers wait for, or at the only program of the run, and goes on
over children, pipes and sockets to other processes of the run.  Two dumps tell a process that
computes at one place from one that moves on.
"""

from __future__ import annotations

from enum import StrEnum

from gpualert_common.stacks.activities import StackActivity
from gpualert_common.stacks.chains import find_program, follow_waits
from gpualert_common.stacks.culprits import Culprits, find_culprits
from gpualert_common.stacks.description import (
    describe_chain,
    describe_culprits,
    describe_place,
    describe_state,
    name_group,
)
from gpualert_common.stacks.dump import Dump, ProcessStack, StackFrame, WaitKind
from gpualert_common.stacks.groups import Group, activity_of, group_processes, rank_of
from gpualert_common.structs import Struct, replace

_BUSY_CORES = 0.1
"""A process that used less of a core between two dumps did not compute all the time; on a machine
with more processes than cores, one that did gets a part of a core."""
_IDLE_CORES = 0.05
"""A process that used more of a core worked between two dumps."""
_SHARED_LOCKS = ("/multiprocessing/synchronize.py", "/filelock/")
"""Files of locks that another process can release."""


class HangReason(StrEnum):
    """Reasons for which a process makes no progress."""

    SLEEP = "sleep"
    LOCK = "lock"
    DEADLOCK = "deadlock"
    CYCLE = "cycle"
    FORKED_LOCK = "forked_lock"
    FILE_LOCK = "file_lock"
    DEAD_WORKER = "dead_worker"
    QUEUE = "queue"
    DISK = "disk"
    NETWORK = "network"
    INPUT = "input"
    CHILD = "child"
    LOOP = "loop"
    GIL = "gil"
    COMPUTATION = "computation"
    GPU = "gpu"
    STOPPED = "stopped"
    DEBUGGER = "debugger"
    MISSING_RANK = "missing_rank"
    MISMATCH = "mismatch"
    PEERS = "peers"
    RENDEZVOUS = "rendezvous"
    UNKNOWN = "unknown"


_COMPUTES = frozenset((HangReason.LOOP, HangReason.COMPUTATION))


class HangExplanation(Struct, frozen=True):
    """Reason of a hang: ``text`` is a sentence, ``place`` the line of the user's code, if known.

    ``rank`` is the rank that the others wait for, ``chain`` the processes from that rank on, each
    of which waits for the next one.  ``is_moving`` says that the last of them was elsewhere in the
    dump before, so that it is slow; ``is_confirmed`` that both dumps show the same, and that the
    processes used no processor in between, unless they compute at one place.
    """

    reason: HangReason
    text: str
    place: str = ""
    rank: int | None = None
    chain: tuple[ProcessStack, ...] = ()
    is_moving: bool = False
    is_confirmed: bool = False


def explain_hang(dump: Dump, earlier: Dump | None = None) -> HangExplanation | None:
    """Return the reason of a hang by a dump, and the one before it; None if there is no process
    with a known wait."""
    found = _explain(dump, earlier)
    before = None if earlier is None else _explain(earlier, None)
    if found is None or before is None or earlier is None:
        return found
    is_same = _signature(found) == _signature(before)
    has_stood = found.reason is HangReason.LOOP or _is_idle(found, before, dump.at - earlier.at)
    return replace(found, is_confirmed=is_same and has_stood and not found.is_moving)


def _signature(found: HangExplanation) -> tuple[object, ...]:
    """Return what two explanations of one hang share."""
    reason = None if found.reason in _COMPUTES else found.reason
    return found.rank, found.place, reason, tuple(one.pid for one in found.chain)


def _is_idle(found: HangExplanation, before: HangExplanation, passed_s: float) -> bool:
    """Return whether no process of the chain used a processor between the two dumps."""
    used = [
        one.cpu_s - earlier.cpu_s for one, earlier in zip(found.chain, before.chain, strict=False)
    ]
    return all(used_s < _IDLE_CORES * passed_s for used_s in used)


def _explain(dump: Dump, earlier: Dump | None) -> HangExplanation | None:
    groups = group_processes(dump)
    culprits = find_culprits(dump, groups)
    if culprits.waiting and all(map(_has_exited, culprits.groups)):
        return _explain_peers(culprits)
    ranked = [group for group in groups if group.is_ranked and not _has_exited(group)]
    if sum(len(group.processes) for group in ranked) > 1 and not any(
        group.frames for group in ranked
    ):
        return _explain_states(dump, ranked, earlier)
    subject = _find_subject(dump, groups, culprits)
    if subject is None:
        return None
    chain, target = follow_waits(dump, subject)
    last = chain[-1]
    reason = HangReason.CYCLE if target else _find_reason(dump, chain, earlier)
    groups_of_chain = [_group_of(dump, one) for one in chain]
    text = describe_chain(groups_of_chain, _group_of(dump, target) if target else None)
    if culprits.waiting:
        links = describe_chain(groups_of_chain[1:]) if chain[1:] else ""
        text = describe_culprits(culprits) + (f"; {links}" if links else "")
    rank = rank_of(subject)
    return HangExplanation(
        reason,
        text + _explain_more(reason),
        describe_place(_group_of(dump, last)),
        rank=int(rank) if rank and culprits.waiting else None,
        chain=tuple(chain),
        is_moving=_has_moved(dump, last, earlier),
    )


def _explain_peers(found: Culprits) -> HangExplanation:
    place = describe_place(found.waiting[0])
    text = describe_culprits(found)
    missing = found.missing[0] if found.missing else None
    if all(group.activity is StackActivity.RENDEZVOUS for group in found.waiting):
        return HangExplanation(HangReason.RENDEZVOUS, text, place, rank=missing)
    if found.groups or found.missing:
        return HangExplanation(HangReason.MISSING_RANK, text, place, rank=missing)
    reason = HangReason.MISMATCH if found.is_mismatch else HangReason.PEERS
    return HangExplanation(reason, text, place)


def _explain_states(dump: Dump, ranked: list[Group], earlier: Dump | None) -> HangExplanation:
    """Explain a hang of several ranks without known stacks: only the wait of one may decide it."""
    states = "; ".join(f"{name_group(group)} {describe_state(group)}" for group in ranked)
    decisive = [group for group in ranked if _is_decisive(group)]
    processes = [one for group in decisive or ranked for one in group.processes]
    reason, rank = HangReason.UNKNOWN, None
    if len(decisive) == 1:
        reason = _find_reason(dump, processes[:1], earlier)
        rank = int(rank_of(processes[0])) if len(processes) == 1 else None
    return HangExplanation(reason, states, rank=rank, chain=tuple(processes))


def _is_decisive(group: Group) -> bool:
    """Return whether the wait of a rank is a reason, whatever its code is."""
    wait = group.processes[0].main.wait
    return wait.kind in _DIRECT or wait.is_uninterruptible


def _is_hidden(dump: Dump, process: ProcessStack) -> bool:
    """Return whether the stack of a process exists and could not be read."""
    return not dump.frames(process.main) and bool(process.problem or dump.problem)


def _find_subject(dump: Dump, groups: list[Group], culprits: Culprits) -> ProcessStack | None:
    """Return the process at the beginning of the chain: a culprit, a rank, or the program."""
    candidates = [*culprits.groups, *(group for group in groups if group.is_ranked)]
    known = [one for one in candidates if not _has_exited(one)]
    return known[0].processes[0] if known else find_program(dump)


def _has_exited(group: Group) -> bool:
    return group.processes[0].main.wait.kind is WaitKind.EXITED


def _find_reason(dump: Dump, chain: list[ProcessStack], earlier: Dump | None) -> HangReason:
    process = chain[-1]
    wait, activity = process.main.wait, activity_of(dump, process)
    if wait.kind is WaitKind.EXITED:
        return HangReason.DEAD_WORKER
    if wait.kind in _DIRECT:
        return _DIRECT[wait.kind]
    if wait.is_uninterruptible:
        return HangReason.DISK
    if process.main.holds_gil and wait.kind is not WaitKind.RUNS:
        return HangReason.GIL
    if wait.kind is WaitKind.RUNS:
        return _explain_computation(dump, process, earlier, activity)
    if wait.kind is WaitKind.LOCK:
        return _explain_lock(dump, process, activity)
    if activity in (StackActivity.DATA, StackActivity.QUEUE):
        return HangReason.QUEUE
    return _BY_WAIT.get(wait.kind, HangReason.UNKNOWN)


_DIRECT = {
    WaitKind.STOPPED: HangReason.STOPPED,
    WaitKind.DEBUGGER: HangReason.DEBUGGER,
    WaitKind.FILE: HangReason.DISK,
    WaitKind.FILE_LOCK: HangReason.FILE_LOCK,
    WaitKind.INPUT: HangReason.INPUT,
    WaitKind.DEVICE: HangReason.GPU,
}
_BY_WAIT = {
    WaitKind.SLEEP: HangReason.SLEEP,
    WaitKind.CHILD: HangReason.CHILD,
    WaitKind.SOCKET: HangReason.NETWORK,
    WaitKind.PIPE: HangReason.QUEUE,
}


def _explain_lock(dump: Dump, process: ProcessStack, activity: StackActivity) -> HangReason:
    """Explain a wait for a lock or another thread, by the stack and the other threads."""
    if _is_hidden(dump, process):
        return HangReason.UNKNOWN
    if activity is StackActivity.GPU:
        return HangReason.GPU
    if activity in (StackActivity.DATA, StackActivity.QUEUE):
        return HangReason.QUEUE
    if activity in (StackActivity.RESULT, StackActivity.BACKWARD):
        has_peers = rank_of(process) and process.world_size != 1
        return HangReason.PEERS if has_peers else HangReason.UNKNOWN
    is_shared = any(part in one.file for one in dump.frames(process.main) for part in _SHARED_LOCKS)
    if is_shared:
        return HangReason.LOCK
    if process.is_fork and process.thread_count == 1:
        return HangReason.FORKED_LOCK
    others = [one for one in process.threads[1:] if dump.frames(one)]
    own = [one for one in others if any(frame.is_own for frame in dump.frames(one))]
    if own and all(one.wait.kind is WaitKind.LOCK for one in own):
        return HangReason.DEADLOCK
    return HangReason.LOCK


def _explain_computation(
    dump: Dump, process: ProcessStack, earlier: Dump | None, activity: StackActivity
) -> HangReason:
    if activity is StackActivity.GPU:
        return HangReason.GPU
    before = _find_before(process, earlier)
    if before is None or earlier is None or _has_moved(dump, process, earlier):
        return HangReason.COMPUTATION
    if _is_hidden(dump, process):  # then nothing shows whether it moves on
        return HangReason.COMPUTATION
    used_s, passed_s = process.cpu_s - before.cpu_s, dump.at - earlier.at
    return HangReason.LOOP if used_s >= _BUSY_CORES * passed_s else HangReason.COMPUTATION


def _has_moved(dump: Dump, process: ProcessStack, earlier: Dump | None) -> bool:
    """Return whether a process was at another place in the earlier dump."""
    before = _find_before(process, earlier)
    if before is None or earlier is None:
        return False
    frames, frames_before = dump.frames(process.main), earlier.frames(before.main)
    return bool(frames and frames_before) and _places(frames) != _places(frames_before)


def _places(frames: tuple[StackFrame, ...]) -> list[tuple[str, str, int]]:
    """Return the places of a stack; of the innermost function only the function counts, since a
    loop has several lines."""
    return [
        (frame.file, frame.function, frame.line if number else 0)
        for number, frame in enumerate(frames)
    ]


def _find_before(process: ProcessStack, earlier: Dump | None) -> ProcessStack | None:
    found = () if earlier is None else earlier.processes
    return next((one for one in found if one.pid == process.pid), None)


def _explain_more(reason: HangReason) -> str:
    return f": {_MORE[reason]}" if reason in _MORE else ""


_MORE = {
    HangReason.FORKED_LOCK: "it was forked while a thread of its parent held that lock",
    HangReason.DEADLOCK: "all its threads with code of the program wait for locks",
    HangReason.CYCLE: "none of them can continue",
    HangReason.GIL: "it holds the lock of the interpreter (GIL) meanwhile",
    HangReason.LOOP: "it computed there all the time between two dumps",
}


def _group_of(dump: Dump, process: ProcessStack) -> Group:
    frames = dump.frames(process.main)
    return Group((process,), frames, activity_of(dump, process))
