"""Stacks of a run as lines of text, merged by place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpualert_common.report.formatting import time
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.stacks.activities import StackActivity
from gpualert_common.stacks.culprits import Culprits, find_culprits
from gpualert_common.stacks.description import (
    describe_culprits,
    describe_frame,
    describe_state,
    name_group,
    name_process,
)
from gpualert_common.stacks.dump import Dump, ProcessStack, StackFrame
from gpualert_common.stacks.groups import Group, find_owner, group_processes, rank_of

_MOST_FRAMES = 8
_MOST_PROCESSES = 4
_CODE_COLUMN = 44
_WITHOUT_FRAMES = frozenset((StackActivity.LAUNCHER, StackActivity.WORKER))
"""Activities whose frames, which are always the same, are not shown in short form."""


def render_stacks(
    dump: Dump, text: TextSanitizer, *, cwd: str | None = None, is_full: bool = False
) -> list[str]:
    """Return the groups of a dump, those that the others wait for first.

    In short form a group has its innermost frames and its first processes.
    """
    groups = group_processes(dump)
    culprits = find_culprits(dump, groups)
    lines = [text.line(line) for line in _head(dump, groups, culprits)]
    ordered = sorted(groups, key=lambda one: (not one.is_ranked, one not in culprits.groups))
    processes = {one.pid: one for one in dump.processes}
    for group in ordered:
        lines.append("")
        group_lines = _render_group(dump, group, culprits, processes, cwd, is_full=is_full)
        lines.extend(text.log_line(line) for line in group_lines)
    return lines


def _head(dump: Dump, groups: Sequence[Group], culprits: Culprits) -> Iterator[str]:
    count, paused = len(dump.processes), max((one.paused_ms for one in dump.processes), default=0)
    pause = f", each paused for at most {paused} ms" if paused else " without pausing them"
    processes = "1 process" if count == 1 else f"{count} processes"
    places = "1 place" if len(groups) == 1 else f"{len(groups)} places"
    yield (
        f"{processes} on {dump.host} in {places}, {time(dump.at, 'local')}, taken in "
        f"{dump.took_ms / 1000:.1f} s{pause} ({dump.reason})"
    )
    if dump.left_out:
        yield f"{dump.left_out} more processes are left out"
    if dump.problem:
        yield f"no Python stacks: {dump.problem}; remedy: {dump.remedy}"
    sentence = describe_culprits(culprits)
    if sentence:
        yield sentence[0].upper() + sentence[1:]
    if culprits.missing and not culprits.waiting:
        yield f"no process has these ranks any more: {', '.join(map(str, culprits.missing))}"


def _render_group(
    dump: Dump,
    group: Group,
    culprits: Culprits,
    processes: dict[int, ProcessStack],
    cwd: str | None,
    *,
    is_full: bool,
) -> Iterator[str]:
    is_culprit = group in culprits.groups
    mark = "   <- the others wait for it" if is_culprit else ""
    yield f"{name_group(group)}: {describe_state(group)}{mark}"
    if group.is_ranked:
        shown = group.processes if is_full or is_culprit else group.processes[:_MOST_PROCESSES]
        named = [name_process(one, dump.host) for one in shown[: None if is_full else 16]]
        more = len(group.processes) - len(named)
        yield f"  {'; '.join(named)}" + (f"; and {more} more" if more else "")
    else:
        found = [find_owner(one, processes) for one in group.processes]
        owners = {rank_of(one) for one in found if one is not None}
        if owners:
            yield f"  started by rank {', '.join(sorted(owners, key=int))}"
        if is_culprit:  # nothing else tells it from the processes that wait
            yield from (f"  command: {one.command}" for one in group.processes[:_MOST_PROCESSES])
    for problem in dict.fromkeys(one.problem for one in group.processes if one.problem):
        yield f"  no Python stack: {problem}"
    if is_full or group.activity not in _WITHOUT_FRAMES:
        yield from _render_frames(group.frames, cwd, is_full=is_full)
    for thread in group.processes[0].threads[1:]:
        frames = dump.frames(thread)
        if is_full or any(frame.is_own for frame in frames):
            gil = ", holds the GIL" if thread.holds_gil else ""
            yield f"  thread {thread.name or thread.tid}: {thread.wait.text}{gil}"
            yield from _render_frames(frames, cwd, is_full=is_full)


def _render_frames(
    frames: Sequence[StackFrame], cwd: str | None, *, is_full: bool
) -> Iterator[str]:
    """Yield frames, innermost first; in short form up to the outermost of the user's own code."""
    shown = list(frames)
    if not is_full:
        own = [number for number, frame in enumerate(frames) if frame.is_own]
        shown = shown[: max(own) + 1] if own else shown
        shown = _shorten(shown)
    for frame in shown:
        mark = ">" if frame.is_own else " "
        text = describe_frame(frame, cwd)
        yield f"  {mark} {text:{_CODE_COLUMN}}  {frame.code}".rstrip()
    if len(shown) < len(frames):
        yield f"    and {len(frames) - len(shown)} more frames"


def _shorten(frames: list[StackFrame]) -> list[StackFrame]:
    """Return at most so many frames: the user's own, and the innermost of the libraries."""
    if len(frames) <= _MOST_FRAMES:
        return frames
    own = [number for number, frame in enumerate(frames) if frame.is_own][: _MOST_FRAMES - 2]
    library = [number for number, frame in enumerate(frames) if not frame.is_own]
    kept = sorted((*own, *library[: _MOST_FRAMES - len(own)]))
    return [frames[number] for number in kept]
