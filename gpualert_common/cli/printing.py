"""Output of the program: everything that it prints goes through these functions.

Names, paths and errors may hold any character; none of them reaches a terminal that would obey it.
A failure to write is an error on stdout, and ignored on stderr.
"""

from __future__ import annotations

import os
import sys

from gpualert_common.errors import GPUAlertError
from gpualert_common.printable_text import make_printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO, Any, AnyStr


class NoReaderError(Exception):
    """Nobody reads stdout any more."""


_MOST_COLUMNS = 1000
"""Wider than any terminal; ``COLUMNS`` may have any number."""
_COLOUR = r"(\x1b\[[\d;]*m)"


def print_lines(*lines: str, colours: bool = False) -> None:
    """Print each text on one line; with ``colours`` their escape sequences are kept.

    Raises GPUAlertError if stdout cannot be written, NoReaderError if nobody reads it.
    """
    _write_stdout(sys.stdout, _join(lines, colours=colours))


def print_json(value: Any) -> None:
    """Print a value as JSON on one line, in ASCII; raises as :func:`print_lines` does."""
    import json

    print_lines(json.dumps(value))


def print_bytes(data: bytes) -> None:
    """Print output of a command as it is; raises as :func:`print_lines` does."""
    _write_stdout(sys.stdout.buffer, data)


def print_notes(*lines: str, colours: bool = False) -> None:
    """Print each text on one line of stderr, if that can be written; colours as above."""
    try:
        _write(sys.stderr, _join(lines, colours=colours))
    except OSError:
        pass  # nobody reads it


def choose_streams() -> str:
    """Return "apart", or "merged" if stdout and stderr are one terminal or file.

    Separate logs of the two would lose their order.
    """
    return "merged" if os.path.samestat(os.fstat(1), os.fstat(2)) else "apart"


def terminal_columns(default: int) -> int:
    """Return the width of the terminal, the default without one."""
    import shutil

    return min(shutil.get_terminal_size((default, 0)).columns, _MOST_COLUMNS)


def _join(lines: Sequence[str], *, colours: bool) -> str:
    show = _make_printable_but_colours if colours else make_printable
    return "".join(f"{show(line)}\n" for line in lines)


def _make_printable_but_colours(line: str) -> str:
    import re

    pieces = re.split(_COLOUR, line)
    pieces[::2] = map(make_printable, pieces[::2])
    return "".join(pieces)


def _write_stdout(stream: IO[AnyStr], data: AnyStr) -> None:
    try:
        _write(stream, data)
    except BrokenPipeError:
        raise NoReaderError from None
    except OSError as error:
        raise GPUAlertError(f"standard output: {error.strerror}") from None


def _write(stream: IO[AnyStr], data: AnyStr) -> None:
    """Write at once; after a failure, discard this and all further output."""
    try:
        stream.write(data)
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise
