"""The arguments of ``sbatch``: its options, and the script, in front of the arguments of that."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from gpualert_common.structs import Struct

_VALUE_LETTERS = frozenset("AabcCdDeFGiJLmMnNopqStwx")
"""Short options of sbatch that take a value."""
_NO_VALUE = frozenset(
    (
        *("contiguous", "exclusive", "get-user-env", "help", "hold", "ignore-pbs"),
        *("kill-on-invalid-dep", "nice", "no-kill", "no-requeue", "overcommit", "oversubscribe"),
        *("parsable", "propagate", "quiet", "reboot", "requeue", "share", "spread-job", "stepmgr"),
        *("test-only", "usage", "use-min-nodes", "verbose", "version", "wait"),
    )
)
"""Long options of sbatch without a value, or with one only after "="."""
_WITHOUT_JOB = frozenset(("help", "usage", "version", "test-only"))
_WITHOUT_JOB_LETTERS = frozenset("hV")
_MOST_SCRIPT_BYTES = 4 << 20
"""Slurm's own limit of a script, unless it is raised."""
_DIRECTIVE = "#SBATCH"


class SbatchOptions(Struct, frozen=True):
    """The options in front of the script, with the place of the script among the arguments.

    ``script_at`` is the number of arguments where there is none, so that sbatch reads stdin;
    ``has_wrap`` says that a command takes its place.  ``comment`` is the user's own.
    ``submits_nothing`` is true for --help and the like, ``waits`` for --wait.
    """

    script_at: int
    comment: str | None = None
    has_wrap: bool = False
    submits_nothing: bool = False
    waits: bool = False

    @property
    def reads_stdin(self) -> bool:
        """True if the script comes from stdin."""
        return self.script_at < 0


def read_options(arguments: Sequence[str]) -> SbatchOptions:
    """Return the options of sbatch; an option that is not known is taken to have no value."""
    comment: str | None = None
    has_wrap = submits_nothing = waits = False
    index = 0
    while index < len(arguments):
        argument = arguments[index]
        if argument == "--":
            index += 1
            break
        if not argument.startswith("-") or argument == "-":
            break
        if argument.startswith("--"):
            name, equals, value = argument[2:].partition("=")
            if not equals and name not in _NO_VALUE:
                index += 1
                value = arguments[index] if index < len(arguments) else ""
            comment = value if name == "comment" else comment
            has_wrap |= name == "wrap"
            submits_nothing |= name in _WITHOUT_JOB
            waits |= name == "wait"
        else:
            letters = argument[1:]
            submits_nothing |= letters[0] in _WITHOUT_JOB_LETTERS
            for at, letter in enumerate(letters):
                waits |= letter == "W"
                if letter in _VALUE_LETTERS:
                    index += at == len(letters) - 1  # its value is the next argument
                    break
        index += 1
    script_at = index if index < len(arguments) or has_wrap else -1
    return SbatchOptions(script_at, comment, has_wrap, submits_nothing, waits)


def find_script_comment(path: str) -> str | None:
    """Return the comment that a script asks for; None if it has none or cannot be read."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            text = file.read(_MOST_SCRIPT_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    comment = None
    for line in text.splitlines():
        if line.startswith(_DIRECTIVE):
            try:
                words = shlex.split(line[len(_DIRECTIVE) :], comments=True)
            except ValueError:
                continue
            found = read_options(words).comment
            comment = found if found is not None else comment
        elif line.strip() and not line.startswith("#"):
            break  # Slurm reads no directive behind the first command
    return comment


def add_mark(arguments: Sequence[str], mark: str) -> list[str]:
    """Return the arguments with a comment that has *mark* behind the user's own comment.

    It stands in front of the script, so that it replaces the comment of an option and of the
    script.
    """
    options = read_options(arguments)
    at = options.script_at if options.script_at >= 0 else len(arguments)
    comment = options.comment
    if comment is None and 0 <= options.script_at < len(arguments) and not options.has_wrap:
        comment = find_script_comment(arguments[options.script_at])
    if comment is None:
        comment = os.environ.get("SBATCH_COMMENT")
    whole = f"{comment} {mark}" if comment else mark
    before = list(arguments[:at])
    separator = [before.pop()] if before and before[-1] == "--" else []
    return [*before, "--parsable", f"--comment={whole}", *separator, *arguments[at:]]
