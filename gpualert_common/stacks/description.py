"""Groups and culprits of a dump in words."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from gpualert_common.processes.rank_names import name_ranks
from gpualert_common.stacks.activities import PHRASES, StackActivity
from gpualert_common.stacks.culprits import Culprits
from gpualert_common.stacks.dump import ProcessStack, StackFrame, WaitKind
from gpualert_common.stacks.groups import Group, rank_of
from gpualert_common.structs import replace

_INSTALLED = re.compile(r"^.*/(?:(?:site|dist)-packages|lib(?:64)?/python\d[\d.]*)/")
_MOST_NAMED = 3


def name_group(group: Group) -> str:
    """Return the processes of a group, as in "ranks 0-2, 4-7" or "process 4711 (sleep)"."""
    if group.is_ranked:
        return name_ranks([int(rank_of(one)) for one in group.processes])
    names = [f"{one.pid} ({one.name})" for one in group.processes[:_MOST_NAMED]]
    more = len(group.processes) - len(names)
    noun = "process" if len(group.processes) == 1 else "processes"
    return f"{noun} {', '.join(names)}" + (f" and {more} more" if more else "")


def name_process(process: ProcessStack, host: str) -> str:
    """Return a process with its machine and GPUs, as in "process 4711 on node7, GPU 3"."""
    text = f"process {process.pid} on {host}"
    local, gpus = process.local_rank, [one for one in process.gpus.split(",") if one.strip()]
    if local is not None and local < len(gpus):
        gpus = [gpus[local]]
    return f"{text}, GPU {','.join(gpus)}" if gpus else text


def describe_state(group: Group) -> str:
    """Return what the processes of a group do or wait for, after their name."""
    state = _describe_first(group)
    if len(group.processes) == 1:
        return state
    verb, _, rest = state.partition(" ")
    return f"{_PLURALS.get(verb, verb)} {rest}".rstrip()


_PLURALS = {
    "is": "are", "has": "have", "waits": "wait", "sleeps": "sleep", "computes": "compute",
}  # fmt: skip


def _describe_first(group: Group) -> str:
    """Return what the first process of a group does or waits for."""
    wait = group.processes[0].main.wait
    has_own_text = wait.kind in (WaitKind.STOPPED, WaitKind.DEBUGGER, WaitKind.EXITED)
    if has_own_text or wait.is_uninterruptible or group.activity is StackActivity.NONE:
        return wait.text
    if group.activity is StackActivity.COLLECTIVE and group.frames:
        return f"is in {_name_operation(group)}"
    has_no_detail = wait.kind in (WaitKind.LOCK, WaitKind.SLEEP, WaitKind.RUNS)
    if has_no_detail or group.activity in (StackActivity.WORKER, StackActivity.LAUNCHER):
        return PHRASES[group.activity]
    return f"{PHRASES[group.activity]}: it {wait.text}"


def describe_place(group: Group) -> str:
    """Return where a group stands, the user's own code first, as in "load (data.py:33)"; "" where
    the stack is not known."""
    frame = group.own_frame or next(iter(group.frames), None)
    if frame is None:
        return ""
    place = f"{shorten_file(frame.file)}:{frame.line}"
    return place if frame.function == "<module>" else f"{frame.function} ({place})"


def describe_chain(chain: Sequence[Group], target: Group | None = None) -> str:
    """Return which process waits for which next one, and on what the last one waits.

    With *target* the last one waits for that process, which is in the chain, too.
    """
    text = ""
    for group in chain:
        is_waiting = target is not None or group is not chain[-1]
        state, place = "waits" if is_waiting else describe_state(group), describe_place(group)
        text += f" for {name_group(group)}, which" if text else name_group(group)
        text += f" {state}" + (f" at {place}" if place else "")
    return text if target is None else f"{text} for {name_group(target)} in turn"


def describe_culprits(found: Culprits) -> str:
    """Return which ranks wait for which others, in one sentence; "" where no rank waits for one."""
    if not found.waiting:
        return ""
    if found.is_mismatch:
        operations = "; ".join(_describe_at(group) for group in found.waiting)
        return f"the ranks wait for each other in different operations: {operations}"
    first = found.waiting[0]
    waiting = replace(
        first, processes=tuple(one for group in found.waiting for one in group.processes)
    )
    is_one = len(waiting.processes) == 1
    place = describe_place(first) if first.own_frame is not None else ""
    where = f"{_name_operation(first)} at {place}" if place else _name_operation(first)
    reasons = [
        f"{name_group(group)}, which {_describe_at(group, has_name=False)}"
        for group in found.groups
    ]
    is_new = first.activity is StackActivity.RENDEZVOUS
    no_process = "has no process" if is_new else "has no process any more"
    reasons += [f"rank {rank}, which {no_process}" for rank in found.missing]
    if not reasons:
        verb, noun = "is" if is_one else "are all", "rank" if first.is_ranked else "process"
        elsewhere = f"no {noun} of this machine is elsewhere"
        return f"{name_group(waiting)} {verb} in {where}; {elsewhere}"
    verb = "waits" if is_one else "wait"
    return f"{name_group(waiting)} {verb} in {where} for {' and '.join(reasons)}"


def _describe_at(group: Group, *, has_name: bool = True) -> str:
    """Return state and place of a group in words."""
    place = describe_place(group)
    name = f"{name_group(group)} " if has_name else ""
    return f"{name}{describe_state(group)}" + (f" at {place}" if place else "")


def shorten_file(path: str, cwd: str | None = None) -> str:
    """Return the path of a file below its package folder or the working directory."""
    short = _INSTALLED.sub("", path)
    if short != path:
        return short
    if cwd and path.startswith(f"{cwd.rstrip('/')}/"):
        return path[len(cwd.rstrip("/")) + 1 :]
    return os.path.basename(path) or path


def describe_frame(frame: StackFrame, cwd: str | None = None) -> str:
    """Return one frame, as in "load, data.py:33"."""
    line = f":{frame.line}" if frame.line else ""
    return f"{frame.function}, {shorten_file(frame.file, cwd)}{line}"


def _name_operation(group: Group) -> str:
    frame = group.operation
    if group.activity is StackActivity.RESULT:
        return "a computation"
    return frame.function.rpartition(".")[2] if frame else "a collective operation"
