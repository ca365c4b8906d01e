"""Groups: the processes of a dump that stand at one place, ranks before all others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from gpualert_common.stacks.activities import StackActivity, find_activity
from gpualert_common.stacks.dump import Dump, ProcessStack, StackFrame, WaitKind
from gpualert_common.structs import Struct

_APART = frozenset((WaitKind.STOPPED, WaitKind.DEBUGGER, WaitKind.EXITED))
"""Waits that tell processes apart even at the same place."""


class Group(Struct, frozen=True):
    """Processes at one place: ``frames`` are those of their main threads, innermost first."""

    processes: tuple[ProcessStack, ...]
    frames: tuple[StackFrame, ...]
    activity: StackActivity

    @property
    def is_ranked(self) -> bool:
        """True for a group of ranks."""
        return bool(rank_of(self.processes[0]))

    @property
    def own_frame(self) -> StackFrame | None:
        """The innermost frame of the user's own code; None where there is none."""
        return next((frame for frame in self.frames if frame.is_own), None)

    @property
    def operation(self) -> StackFrame | None:
        """The function of a library that the user's code called; None where it called none."""
        found = None
        for frame in self.frames:
            if frame.is_own:
                break
            if not frame.function.endswith("wrapper"):  # a decorator
                found = frame
        return found


def rank_of(process: ProcessStack) -> str:
    """Return the number of a rank as text; "" for a process that is none."""
    kind, _, number = process.label.partition(":")
    return number if kind in ("rank", "local_rank") and number.isdecimal() else ""


def group_processes(dump: Dump) -> list[Group]:
    """Return the groups of a dump: those of ranks first, then the larger first."""
    found: dict[tuple[object, ...], list[ProcessStack]] = defaultdict(list)
    for process in dump.processes:
        found[_make_key(process)].append(process)
    groups = []
    for processes in found.values():
        frames = dump.frames(processes[0].main)
        ordered = sorted(processes, key=lambda one: (int(rank_of(one) or 0), one.pid))
        groups.append(Group(tuple(ordered), frames, activity_of(dump, ordered[0])))
    return sorted(groups, key=_order)


def activity_of(dump: Dump, process: ProcessStack) -> StackActivity:
    """Return the activity of a process; of JAX, which has no frames there, by its wait."""
    frames = dump.frames(process.main)
    activity = find_activity(frames)
    if activity is not StackActivity.NONE or not process.has_jax or not frames:
        return activity
    inner = frames[0]
    is_call = inner.is_own or "-packages/" in inner.file
    is_lock = inner.code.startswith("with ") or ".acquire(" in inner.code
    waits = process.main.wait.kind is WaitKind.LOCK
    return StackActivity.RESULT if waits and is_call and not is_lock else activity


def find_owner(process: ProcessStack, processes: Mapping[int, ProcessStack]) -> ProcessStack | None:
    """Return the rank whose descendant a process is; None if there is none."""
    above = processes.get(process.parent)
    while above is not None and not rank_of(above):
        above = processes.get(above.parent)
    return above


def _make_key(process: ProcessStack) -> tuple[object, ...]:
    """Return what all processes of a group share: place, and whether they are ranks."""
    main = process.main
    apart = main.wait.kind if main.wait.kind in _APART or main.wait.is_uninterruptible else ""
    has_frames = main.stack is not None
    place = (main.stack,) if has_frames else (process.name, main.wait.kind, main.wait.place)
    return (bool(rank_of(process)), apart, has_frames, *place)


def _order(group: Group) -> tuple[bool, int, int]:
    first = group.processes[0]
    return not group.is_ranked, -len(group.processes), int(rank_of(first) or first.pid)
