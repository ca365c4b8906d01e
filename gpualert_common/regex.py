"""Regular expressions of RE2.

RE2 is imported and configured here and nowhere else in the core.  Compiled expressions are typed
as :class:`re.Pattern`, whose interface they have.  RE2 answers "nothing" both when nothing matches
and when it runs out of memory; a set and a filter therefore hold one more expression that always
matches, the canary, and an answer without the canary is None.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import re2

_SET_MEMORY_BYTES = 64 << 20

RegexError: type[Exception] = re2.error
"""Raised for an expression that RE2 cannot compile."""
NEVER: Final = r"[^\s\S]"
"""Expression that matches nothing."""


def _options(**values: Any) -> Any:
    options = re2.Options()
    options.log_errors = False
    for name, value in values.items():
        setattr(options, name, value)
    return options


_TEXT: Final = _options()
_TEXT_DOT_ALL: Final = _options(dot_nl=True)
_LATIN1: Final = re2.Options.Encoding.LATIN1
_LINE: Final = _options(encoding=_LATIN1, never_nl=True)
_LINE_SET: Final = _options(encoding=_LATIN1, never_nl=True, max_mem=_SET_MEMORY_BYTES)
_LINES: Final = _options(encoding=_LATIN1, max_mem=_SET_MEMORY_BYTES)


def compile_text(expression: str, *, is_dot_all: bool = False) -> re.Pattern[str]:
    """Return *expression* compiled for text; with *is_dot_all* a dot also matches a line end.

    Raises :data:`RegexError`, and prints nothing.
    """
    return re2.compile(expression, _TEXT_DOT_ALL if is_dot_all else _TEXT)  # type: ignore[no-any-return]


def compile_bytes(expression: bytes, *, spans_lines: bool = False) -> re.Pattern[bytes]:
    """Return *expression* compiled for bytes of any encoding.  Raises :data:`RegexError`.

    A match lies within one line, whatever a class excludes, unless it *spans_lines*.
    """
    return re2.compile(expression, _LINES if spans_lines else _LINE)  # type: ignore[no-any-return]


def escape(literal: bytes) -> bytes:
    """Return the expression that matches exactly *literal*."""
    return re2.escape(literal)  # type: ignore[no-any-return]


def group_numbers(regex: re.Pattern[bytes]) -> dict[str, int]:
    """Return the number of each named group of *regex*; RE2 has the names as bytes."""
    names: Any = regex.groupindex
    return {name.decode(): number for name, number in names.items()}


class RegexSet:
    """Expressions for bytes, all searched in one pass.  Raises :data:`RegexError`."""

    def __init__(self, expressions: Iterable[bytes], *, spans_lines: bool = False) -> None:
        self._set = re2.Set.SearchSet(_LINES if spans_lines else _LINE_SET)
        for expression in expressions:
            self._set.Add(expression)
        self._canary = self._set.Add(rb"\z")
        self._set.Compile()

    def search(self, text: bytes) -> list[int] | None:
        """Return the indices of the expressions that match in *text*; None when out of memory."""
        found = self._set.Match(text)
        return _without_canary(found, self._canary)


class RegexFilter:
    """Finds which expressions may match by the strings that each of them needs.

    The expressions are for UTF-8.  RE2's filter derives their strings and finds them in one pass;
    it holds some 80 KB of strings, and raises :data:`RegexError` for more.
    """

    def __init__(self) -> None:
        self._filter = re2.Filter()
        self._canary = -1

    def add(self, expression: bytes) -> None:
        """Add the next *expression*.  Raises :data:`RegexError` when it does not compile."""
        self._filter.Add(expression, _TEXT)

    def compile(self) -> None:
        """End the adding.  Raises :data:`RegexError` when the expressions are too many."""
        self._canary = self._filter.Add(rb"\n", _TEXT)
        self._filter.Compile()

    def search(self, text: bytes) -> list[int] | None:
        """Return the indices of the expressions that may match in *text*, which has a line end.

        None when out of memory.
        """
        found = self._filter.Match(text, potential=True)
        return _without_canary(found, self._canary)


def _without_canary(found: list[int] | None, canary: int) -> list[int] | None:
    if not found or canary not in found:
        return None
    return sorted(index for index in found if index != canary)
