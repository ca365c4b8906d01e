"""The manual page gpualert(1): the help texts of all commands, as troff."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docs.pages.cli import format_help, list_commands

_WIDTH = 10_000
"""So wide that each argument and each paragraph of a help text is one line."""
_ITEM = re.compile(r" {2,4}(\S.*?)(?: {2,}(\S.*))?")
_HELP = re.compile(r" {5,}(\S.*)")

HEAD = r"""
.\" Made from the help texts by `make docs`; do not edit.
.TH GPUALERT 1 "" GPUAlert "User Commands"
.ad l
.nh
.SH NAME
gpualert \- supervise a training command, keep its log, and explain why it failed
.SH SYNOPSIS
.B gpualert
.I COMMAND
.RI [ ARGUMENTS ]
"""
FOOT = r"""
.SH EXIT STATUS
.B gpualert run
exits with the status of its command, 128+n for a command that signal n killed, 124 after the time
limit, 125 if the run could not be prepared, 126 or 127 if the command cannot be executed or found.
The other commands exit with 0, with 1 for a negative result, and with 2 for an error.
.SH FILES
.TP
.I $XDG_STATE_HOME/gpualert/, /var/lib/gpualert/ \fRfor root
records of the runs, mailbox, and history
.TP
.I gpualert.toml, $XDG_CONFIG_HOME/gpualert/config.toml
settings of a project, and of a user
.SH ENVIRONMENT
.TP
.B GPUALERT_STATE_DIR, GPUALERT_NOTIFY, GPUALERT_*
the options of
.BR "gpualert run" ,
in capitals
.TP
.B NO_COLOR
no colours
"""


def make_man_page() -> str:
    """Return the manual page."""
    lines = [HEAD.strip(), *_format_commands(), FOOT.strip()]
    return "\n".join(lines) + "\n"


def _format_commands() -> Iterator[str]:
    yield ".SH COMMANDS"
    for command in list_commands():
        text = format_help(command, _WIDTH)
        usage, *rest = text.strip().splitlines()
        yield f".SS gpualert {_escape(command)}"
        yield f".I {_escape(usage.removeprefix('usage: '))}"
        yield from _format_body(rest)


def _format_body(lines: list[str]) -> Iterator[str]:
    """Yield the description, and an entry for each argument."""
    for line in lines:
        if not line.strip() or line in ("options:", "positional arguments:"):
            continue
        item, text = _ITEM.fullmatch(line), _HELP.fullmatch(line)
        if text is not None:
            yield _escape(text[1])
        elif item is not None:
            yield from (".TP", f".B {_escape(item[1])}")
            if item[2]:
                yield _escape(item[2])
        else:
            yield from (".PP", _escape(line))


def _escape(text: str) -> str:
    """Return a line that troff shows as it is."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
