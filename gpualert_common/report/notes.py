"""Messages that the program prints around a run: one line each, or wrapped for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.printable_text import format_messages, make_printable
from gpualert_common.report.formatting import wrap
from gpualert_common.report.terminal import TITLE, TerminalLayout
from gpualert_common.structs import Struct

_TITLE_COLUMNS = 5


class Note(Struct, frozen=True):
    """One message; ``title`` is a short word before it, ``colour`` that of its text."""

    text: str
    title: str = ""
    colour: str = ""


def render_notes(notes: Sequence[Note], layout: TerminalLayout | None) -> str:
    """Return the messages, each with the name of the program.

    Without a layout each is on one line, for a file or a pipe.  With one no line is wider than the
    terminal, except a single word that is: it may be a path.
    """
    if layout is None:
        return format_messages(*(_head(note) + note.text for note in notes))
    return "".join(f"{line}\n" for note in notes for line in _lines(note, layout))


def _head(note: Note) -> str:
    return f"{note.title:{_TITLE_COLUMNS}} " if note.title else ""


def _lines(note: Note, layout: TerminalLayout) -> list[str]:
    program = "gpualert: "
    head = program + _head(note)
    text = wrap(make_printable(note.text), layout.columns - len(head)).split("\n")
    first, *rest = (layout.paint(line, note.colour) for line in text)
    return [
        program + layout.paint(_head(note), TITLE) + first,
        *(" " * len(head) + line for line in rest),
    ]
