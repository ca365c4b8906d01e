"""Samples of a process, from py-spy's output in the form of speedscope."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

from gpualert_common.printable_text import make_printable
from gpualert_common.stacks.dump import StackFrame
from gpualert_common.stacks.py_spy import UNNAMED, strip_templates
from gpualert_common.stacks.source_lines import INLINE_CODE, is_own_file
from gpualert_common.structs import Struct, ValidationError, convert

MOST_DEPTH = 200
DEEPER = StackFrame("(deeper frames)", "", 0)
"""Stands for the frames below the outermost ones of a deeper stack."""
_MOST_NAME_CHARS = 200
_MOST_PATH_CHARS = 1000
_NO_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd")
_MOST_LINE = 10_000_000

Stack = tuple[StackFrame, ...]
"""Frames, the outermost first."""


class ThreadStacks(Struct, frozen=True):
    """One thread: the number of samples of each stack.

    Frames below ``least_share`` of its samples are one.
    """

    tid: int
    name: str
    stacks: Mapping[Stack, int]
    least_share: float = 0.0


class _OutputFrame(Struct, frozen=True):
    name: str
    file: str | None = None
    line: int | None = None


class _OutputThread(Struct, frozen=True):
    name: str
    samples: list[list[int]]


class _OutputShared(Struct, frozen=True):
    frames: list[_OutputFrame]


class _Output(Struct, frozen=True):
    profiles: list[_OutputThread]
    shared: _OutputShared


def parse_samples(data: bytes) -> tuple[ThreadStacks, ...]:
    """Return the threads in py-spy's output.  Raises ValueError."""
    try:
        output = convert(json.loads(data.decode("utf-8", "replace")), _Output)
    except (ValidationError, RecursionError) as error:
        raise ValueError(str(error)) from None
    frames = [_make_frame(one) for one in output.shared.frames]
    return tuple(_parse_thread(one, frames) for one in output.profiles)


def _make_frame(one: _OutputFrame) -> StackFrame | None:
    """Return a frame; None for a native one without a symbol, whose name is an address."""
    if one.name.startswith(UNNAMED):
        return None
    file, line = (one.file or "")[:_MOST_PATH_CHARS], one.line or 0
    line = line if 0 < line < _MOST_LINE else 0
    name = one.name if file.endswith(".py") or line else strip_templates(one.name)
    is_own = is_own_file(file) or file == INLINE_CODE
    return StackFrame(_clean(name[:_MOST_NAME_CHARS]), _clean(file), line, is_own=is_own)


def _clean(text: str) -> str:
    """Return a text of another process without the characters that a terminal obeys, or XML cannot
    have."""
    return make_printable(text).translate(_NO_XML)


def _parse_thread(thread: _OutputThread, frames: list[StackFrame | None]) -> ThreadStacks:
    counts = Counter(map(tuple, thread.samples))
    stacks: Counter[Stack] = Counter()
    for indices, count in counts.items():
        if any(not 0 <= index < len(frames) for index in indices):
            raise ValueError("a stack has a frame that is not in the list")
        stack = tuple(one for index in indices if (one := frames[index]) is not None)
        if len(stack) > MOST_DEPTH:
            stack = (*stack[: MOST_DEPTH - 1], DEEPER)
        stacks[stack] += count
    tid, name = _parse_name(thread.name)
    return ThreadStacks(tid, name, stacks)


def _parse_name(text: str) -> tuple[int, str]:
    """Return number and name of a thread, as in 'Thread 4711 "MainThread"'."""
    number, _, name = text.removeprefix("Thread ").partition(" ")
    tid = int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else 0
    return tid, _clean(name.strip('"')[:_MOST_NAME_CHARS])
