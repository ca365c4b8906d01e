"""Excerpts of a log: the lines around a cited place, as a terminal shows them, masked."""

from __future__ import annotations

import os

from gpualert_common.classify.lines import canonicalize
from gpualert_common.model import LogLocation
from gpualert_common.record import Record
from gpualert_common.report.text_sanitizer import Masks, TextSanitizer
from gpualert_common.structs import Struct

_WINDOW_BYTES = 32 << 10
"""Bytes read before and after the place: ten lines are much less, and a secret of several lines,
such as a private key, is masked as a whole."""


class ExcerptLine(Struct, frozen=True):
    """One line of an excerpt; ``number`` is that in the file, None where it is not known."""

    number: int | None
    text: str
    is_cited: bool = False


class LogExcerpt(Struct, frozen=True):
    """Lines of one log around the cited one."""

    file: str
    lines: tuple[ExcerptLine, ...]


def read_excerpt(
    record: Record, place: LogLocation, masks: Masks, *, context: int
) -> LogExcerpt | None:
    """Return the cited line with ``context`` lines before and after it.

    None where the log cannot be read, or has no such place.  Reads at most 64 KiB, so that a line
    of 100 MB is cut.
    """
    if place.file not in record.logs or place.offset < 0:
        return None
    try:
        before, after = _read_around(record, place)
    except (OSError, OverflowError):
        return None
    if not after:
        return None
    above = [_show_line(line) for line in before]
    cited, *below = [_show_first(after[0]), *map(_show_line, after[1:])]
    shown = "\n".join([*above, cited, *below])
    masked = masks.mask_text(shown).split("\n")
    text = TextSanitizer(masks)
    is_aligned = len(masked) == len(above) + 1 + len(below)  # no mask stands for several lines
    at = len(above) if is_aligned else min(len(above), len(masked) - 1)
    number = place.line if is_aligned else None
    lines = tuple(
        ExcerptLine(
            number=None if number is None else number + index - at,
            text=text.log_line(masked[index]),
            is_cited=is_aligned and index == at,
        )
        for index in range(max(0, at - context), min(len(masked), at + context + 1))
    )
    return LogExcerpt(place.file, lines)


def _read_around(record: Record, place: LogLocation) -> tuple[list[bytes], list[bytes]]:
    """Return the whole lines before the place, and those from it on; the last one may be cut."""
    fd = record.open_log(place.file)
    try:
        begin = max(0, place.offset - _WINDOW_BYTES)
        head = os.pread(fd, place.offset - begin, begin)
        tail = os.pread(fd, _WINDOW_BYTES, place.offset)
    finally:
        os.close(fd)
    before = head.split(b"\n")
    before.pop()  # empty, or the part of a progress bar before the place
    if begin and before:
        before.pop(0)  # its begin is not in the window
    after = tail.split(b"\n") if tail else []
    if len(after) > 1 and (not after[-1] or len(tail) == _WINDOW_BYTES):
        after.pop()  # empty behind a last line feed, or cut
    return before, after


def _show_line(line: bytes) -> str:
    r"""Return the text that stays on the screen of a line that ``\r`` redraws."""
    states = canonicalize(line).split(b"\n")
    last = next((state for state in reversed(states) if state.strip()), b"")
    return last.decode("utf-8", "replace")


def _show_first(line: bytes) -> str:
    r"""Return the first of the texts of a line that ``\r`` redraws: the cited one."""
    return canonicalize(line).split(b"\n")[0].decode("utf-8", "replace")
