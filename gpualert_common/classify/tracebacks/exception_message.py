"""The message of an exception, which may go on in the lines after the one with its type."""

from __future__ import annotations

from typing import Final

from gpualert_common.classify.line_prefixes import PrefixedLine
from gpualert_common.classify.tracebacks.exception_names import NamedException
from gpualert_common.classify.tracebacks.traceback import Traceback
from gpualert_common.classify.tracebacks.unfinished import MAX_MESSAGE_CHARS
from gpualert_common.regex import compile_text
from gpualert_common.whole_words import cut_words

_MAX_LINES = 10
"""Lines after the first that are read as part of the message."""
_INNER_LINES = 3
"""Lines of the message of a wrapper within which it names the exception that it wraps."""

_OTHER_PROGRAM: Final = compile_text(
    r"^(?:cp|mv|rm|ln|ls|cat|tail|head|chmod|tar|rsync|scp): .*No such file or directory$"
    r"|^srun: error: \S+: tasks? [\d,-]+: (?:Exited|Terminated|Killed)\b"
)
"""A line of a tool that a script runs behind a program, whose result is not there; and that of
Slurm's launcher about a task that ended."""


class ExceptionMessage:
    """The lines of one message so far, the first with the type; at most MAX_MESSAGE_CHARS."""

    def __init__(self, traceback: Traceback, named: NamedException, line: PrefixedLine) -> None:
        first = cut_words(line.text.strip(), MAX_MESSAGE_CHARS)
        if named.type not in first:
            first = cut_words(f"{named.type}: {named.message}", MAX_MESSAGE_CHARS)
        self.traceback = traceback
        self._is_stamped = line.is_stamped
        self._lines = [first]
        self._chars = len(first)
        self._lines_read = 1

    @property
    def text(self) -> str:
        """The lines, joined by blanks."""
        return " ".join(self._lines)

    @property
    def quotes_frames(self) -> bool:
        """True when frames follow that belong to the message, as TensorFlow writes it."""
        return self._lines[-1].endswith("(most recent call last):")

    @property
    def may_name_inner_exception(self) -> bool:
        """True while an exception that is named next is the one that this one wraps."""
        return self._lines_read <= _INNER_LINES

    def begins_with(self, text: str) -> bool:
        """True when *text* is the line that names the exception."""
        return self._lines[0] == text.strip()

    def read(self, line: PrefixedLine, *, is_benign: bool) -> bool:
        """Take the next line, or leave out a benign one.  False when the message has ended."""
        text = line.text.strip()
        if line.is_stamped and not self._is_stamped:
            return False
        if _OTHER_PROGRAM.search(text) and not self._lines[-1].endswith(":"):
            return False
        if self._lines_read >= _MAX_LINES:
            return False
        if text in self._lines:
            return True
        self._lines_read += bool(text)
        if text and not is_benign and self._chars < MAX_MESSAGE_CHARS:
            self._lines.append(cut_words(text, MAX_MESSAGE_CHARS - self._chars))
            self._chars += len(text)
        return True
