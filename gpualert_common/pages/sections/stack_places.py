"""Stacks of the run's processes, merged by place."""

from __future__ import annotations

from itertools import groupby

from gpualert_common.pages.reported_run import ReportedRun
from gpualert_common.pages.sections._interface import Room, Section
from gpualert_common.report.stack_text import render_stacks
from gpualert_common.stacks.dump import Dump
from gpualert_common.structs import Struct

_MOST_DUMPS = 3
_MOST_GROUPS = 16
_MOST_LINES = 60


class StackGroup(Struct, frozen=True):
    """Processes at one place, in one line, and the lines of their stack."""

    title: str
    lines: tuple[str, ...]


class StackDump(Struct, frozen=True):
    """One dump: sentences about it, and its groups; the others are only counted."""

    taken_at: str
    head: tuple[str, ...]
    groups: tuple[StackGroup, ...]
    left_out: int


class ShownDumps(Struct, frozen=True):
    """The last dumps, newest first."""

    dumps: tuple[StackDump, ...]
    left_out: int


def _collect(run: ReportedRun, room: Room) -> ShownDumps | None:
    most = room.limit(_MOST_DUMPS)
    newest = run.dumps[::-1][:most]
    shown = tuple(_make_dump(run, dump, room) for dump in newest)
    return ShownDumps(shown, len(run.dumps) - len(shown)) if shown else None


def _make_dump(run: ReportedRun, dump: Dump, room: Room) -> StackDump:
    lines = render_stacks(dump, run.text, cwd=run.spec.cwd)
    blocks = [list(block) for is_text, block in groupby(lines, key=bool) if is_text]
    head, *groups = blocks
    most = room.limit(_MOST_GROUPS)
    shown = tuple(
        StackGroup(group[0].strip(), tuple(group[1 : room.limit(_MOST_LINES)]))
        for group in groups[:most]
    )
    return StackDump(run.format_time(dump.at), tuple(head), shown, len(groups) - len(shown))


SECTION = Section("Stacks", order=60, most_bytes=70_000, collect=_collect)
