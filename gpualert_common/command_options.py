"""Options of a supervised command, also of the script that it passes to a shell."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gpualert_common.shells import names_shell

MOST_CHARS = 16 << 10
"""A longer word is a program, or data, and is taken as it stands."""
SCRIPT_FLAG = re.compile(r"-[a-z]*c")
_EVALUATION = r"(?:test|evaluat|eval|validat|predict|infer|generat|export)"
_EVALUATING_SCRIPT = re.compile(rf"(?i)(?:\w*_)?{_EVALUATION}\w*\.py")
_EVALUATING_OPTION = re.compile(rf"{_EVALUATION}(?:e|ion|ence)?(?:_only)?")
_YES = ("", "1", "true", "yes")
_OPTION = re.compile(r"(?s)(--?|\++)?([A-Za-z][\w.-]*)(?:(=)(.*))?")


def words_of(command: Sequence[str]) -> list[str]:
    """The words of *command*, with those of a script in the place of the script."""
    words: list[str] = []
    is_shell, is_script = False, False
    for word in command:
        if is_script and len(word) <= MOST_CHARS:
            words += split_script(word)
        else:
            words.append(word)
        is_script = is_shell and bool(SCRIPT_FLAG.fullmatch(word))
        is_shell = is_shell or names_shell(word)
    return words


def options_of(command: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Name and value of each option, "" for a value that it has not.

    Read as ``--name value``, ``--name=value`` and ``name=value``; the name in lower case, with
    ``_`` for ``-``, and of a dotted one the last part.
    """
    for word, following in pairwise((*words_of(command), "")):
        found = _OPTION.fullmatch(word)
        if found is None or not (found[1] or found[3]):
            continue
        name = found[2].rpartition(".")[2].lower().replace("-", "_")
        given = found[4] if found[3] else following
        yield name, given if found[3] or not given.startswith("-") else ""


def evaluates(command: Sequence[str]) -> bool:
    """True where an option, or the name of the script, says that nothing is trained."""
    scripts = [os.path.basename(word) for word in words_of(command) if word.endswith(".py")]
    if any(_EVALUATING_SCRIPT.fullmatch(script) for script in scripts[:1]):
        return not any("train" in script.lower() for script in scripts)
    return any(
        _EVALUATING_OPTION.fullmatch(name) and value.lower() in _YES
        for name, value in options_of(command)
    )


def split_script(script: str) -> list[str]:
    """The words of a script; of one that is very long, or none, those between blanks."""
    if len(script) > MOST_CHARS:
        return script.split()
    lexer = shlex.shlex(script, posix=True, punctuation_chars=";&|<>()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # a quotation that does not end, as in a here-document
        return script.split()
