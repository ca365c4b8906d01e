"""Options of a command, including those in a script that it passes to a shell."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gpualert_common.shells import names_shell

MAX_WORD_CHARS = 16 << 10
"""A longer word is a program or data, and is not split."""
SCRIPT_FLAG = re.compile(r"-[a-z]*c")
_EVALUATION = r"(?:test|evaluat|eval|validat|predict|infer|generat|export)"
_EVALUATING_SCRIPT = re.compile(rf"(?i)(?:\w*_)?{_EVALUATION}\w*\.py")
_EVALUATING_OPTION = re.compile(rf"{_EVALUATION}(?:e|ion|ence)?(?:_only)?")
_YES = ("", "1", "true", "yes")
_OPTION = re.compile(r"(?s)(--?|\++)?([A-Za-z][\w.-]*)(?:(=)(.*))?")


def split_command(command: Sequence[str]) -> list[str]:
    """Return the words of *command*, with a shell script replaced by its words."""
    words: list[str] = []
    is_shell, is_script = False, False
    for word in command:
        if is_script and len(word) <= MAX_WORD_CHARS:
            words += split_script(word)
        else:
            words.append(word)
        is_script = is_shell and bool(SCRIPT_FLAG.fullmatch(word))
        is_shell = is_shell or names_shell(word)
    return words


def parse_options(command: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield name and value of each option, "" for an option without a value.

    Options are ``--name value``, ``--name=value`` and ``name=value``.  The name is in lower case,
    with ``_`` for ``-``; of a dotted name only the last part is given.
    """
    for word, following in pairwise((*split_command(command), "")):
        found = _OPTION.fullmatch(word)
        if found is None or not (found[1] or found[3]):
            continue
        name = found[2].rpartition(".")[2].lower().replace("-", "_")
        given = found[4] if found[3] else following
        yield name, given if found[3] or not given.startswith("-") else ""


def is_evaluation(command: Sequence[str]) -> bool:
    """Return True when an option or the name of the script says that nothing is trained."""
    scripts = [os.path.basename(word) for word in split_command(command) if word.endswith(".py")]
    if any(_EVALUATING_SCRIPT.fullmatch(script) for script in scripts[:1]):
        return not any("train" in script.lower() for script in scripts)
    return any(
        _EVALUATING_OPTION.fullmatch(name) and value.lower() in _YES
        for name, value in parse_options(command)
    )


def split_script(script: str) -> list[str]:
    """Return the words of a shell script; split at blanks when it is too long or invalid."""
    if len(script) > MAX_WORD_CHARS:
        return script.split()
    lexer = shlex.shlex(script, posix=True, punctuation_chars=";&|<>()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # an unterminated quotation, as in a here-document
        return script.split()
