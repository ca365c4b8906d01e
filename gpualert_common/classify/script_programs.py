"""Programs that a script runs one after the other: the first that failed is the root."""

from __future__ import annotations

from typing import Final

from gpualert_common.causes import GENERIC_CAUSES
from gpualert_common.classify.candidates import Candidate
from gpualert_common.classify.tracebacks.traceback import Context, Traceback
from gpualert_common.regex import compile_text

_RESULT_MISSES: Final = frozenset({"file_not_found", "data", "checkpoint", "asset"})
"""Causes of a program that misses the result of an earlier one."""

_INSTALLED: Final = compile_text(r"/bin/[^/]+$|/(?:site|dist)-packages/")
"""A program that was installed, rather than one of the user's."""


def is_earlier_program(one: Candidate, other: Candidate) -> bool:
    """Return whether *one* ended an earlier program, whose results *other* may have missed."""
    if one.place >= other.place or one.file != other.file:
        return False
    if other.cause not in _RESULT_MISSES | GENERIC_CAUSES:
        return False
    first, second = _program_of(one.head), _program_of(other.head)
    return first is not None and second is not None and first != second


def _program_of(head: Traceback | None) -> str | None:
    """Return the script that an exception ended; None if that is not known."""
    if head is None or head.context is not Context.MAIN or head.outermost is None:
        return None
    script = head.outermost
    if script.function != "<module>" or _INSTALLED.search(script.file):
        return None
    return script.file
