"""Lines of a log about the work of a program, as opposed to its failures.

Work shows in numbers that a program computed, in files that it wrote, and in lines that it repeats
with other numbers.  Hardly a failure is followed by any of these.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from gpualert_common.classify.handled.work_words import (
    COUNT,
    NEGATION,
    NO_TROUBLE,
    NOT_OWN,
    NUMBER,
    OUTCOME,
    QUANTITY,
    RESULT,
    STEP,
    TROUBLE,
)
from gpualert_common.classify.line_prefixes import strip_prefixes
from gpualert_common.classify.lines import canonicalize
from gpualert_common.classify.log_position import is_info_record
from gpualert_common.classify.log_reading import LogReading

_NOT_LETTERS: Final = re.compile(r"[^A-Za-z]+")
_DECIMALS: Final = re.compile(rb"\d\.\d")

_REPEATED_LINES = 3
"""Lines that differ only in their numbers, which prove a loop that works."""

_CONTINUED_LINES = 2
"""Lines after a failure, of a form that the program wrote before, that prove that it continued."""

_RECENT_LINES = 400
"""Lines before a failure, and after it, that show what the program writes as it works."""

_CACHED_LINES = 2_000
"""Lines of a log's end: many exceptions in it have the same surroundings."""


def own_lines(lines: Sequence[bytes]) -> list[bytes]:
    """Return *lines* without those of a shell that traces its commands, and their output."""
    return [
        line
        for previous, line in zip([b"", *lines], lines, strict=False)
        if not NOT_OWN.search(line) and not previous.startswith(b"+ echo")
    ]


def good_lines(lines: Sequence[bytes]) -> list[bytes]:
    """Return those of the program's own lines that are not about trouble."""
    return [line for line in own_lines(lines) if not _is_about_trouble(line)]


@lru_cache(maxsize=_CACHED_LINES)
def _is_about_trouble(line: bytes) -> bool:
    return TROUBLE.search(NO_TROUBLE.sub(b"", line)) is not None


@lru_cache(maxsize=_CACHED_LINES)
def _is_computed(line: bytes) -> bool:
    return STEP.search(line) is not None or NUMBER.search(QUANTITY.sub(b"", line)) is not None


def has_match(words: Any, lines: Iterable[Any]) -> bool:
    """Return whether the expression *words* matches one of *lines*."""
    return any(map(words.search, lines))


def ends_with(lines: Sequence[bytes], words: Any) -> bool:
    """Return whether a line with *words* follows the last step among *lines*."""
    for line in reversed(lines):
        if words.search(line):
            return True
        if STEP.search(line):
            return False
    return False


def shows_work(reading: LogReading) -> bool:
    """Return whether a log shows work, as far as it was kept."""
    lines = canonicalize(reading.tail).split(b"\n")
    return reading.trained_from is not None or has_work(good_lines(lines))


def has_work(good: Sequence[bytes]) -> bool:
    """Return whether good lines show work: a computation or a result."""
    return has_numbers(good) or has_match(RESULT, good)


def has_numbers(good: Sequence[bytes]) -> bool:
    """Return whether good lines show a computation: a step, a number, or a loop of some work."""
    if any(map(_is_computed, good)):
        return True
    loops = {
        line for line in good[-_RECENT_LINES:] if is_info_record(line) or _DECIMALS.search(line)
    }
    forms = Counter(form for form in map(_form_of, loops) if form is not None)
    return max(forms.values(), default=0) >= _REPEATED_LINES


def has_outcome(good: Iterable[bytes]) -> bool:
    """Return whether good lines name an outcome of some work, such as a file that was written."""
    return any(OUTCOME.search(line) and not NEGATION.search(line) for line in good)


def has_count(good: Iterable[bytes]) -> bool:
    """Return whether good lines count items of some work."""
    return any(COUNT.search(QUANTITY.sub(b"", line)) for line in good)


def is_continued(before: Sequence[bytes], after: Sequence[bytes]) -> bool:
    """Return whether the program continued to write lines of the form that it wrote before.

    They differ only in their numbers.  One such line may be the end of another attempt.
    """
    texts: dict[str, set[str]] = {}
    for line in after[-_RECENT_LINES:]:
        form = _form_of(line)
        if form is not None:
            texts.setdefault(form, set()).add(strip_prefixes(line).text)
    repeated = {form for form, found in texts.items() if len(found) >= _CONTINUED_LINES}
    return bool(repeated) and any(_form_of(line) in repeated for line in before[-_RECENT_LINES:])


@lru_cache(maxsize=_CACHED_LINES)
def _form_of(line: bytes) -> str | None:
    """Return the letters of a line with numbers; None for other lines and those of tracebacks."""
    text = strip_prefixes(line).text
    if not any(map(str.isdigit, text)) or text.startswith("  File "):
        return None
    return _NOT_LETTERS.sub(" ", text)
