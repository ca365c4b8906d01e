"""The closing lines of a log, and which of them are a program's own words about its end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

from gpualert_common.classify.compiled_rules import CompiledRules
from gpualert_common.classify.line_prefixes import PrefixedLine, strip_prefixes
from gpualert_common.classify.lines import canonicalize
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.model import Role
from gpualert_common.regex import compile_bytes, compile_text
from gpualert_common.structs import Struct, replace

_CLOSING_LINES = 100
"""Number of different lines at the end of a log in which an exception's message may stand."""

_RANKS = 8
"""Number of ranks whose copies of these lines are read."""

_LAST_WORDS = 6
"""Number of lines at the end that may be the program's own words about its failure."""

_ANNOUNCED_WORDS = 14
"""Number of closing lines before them that count if they begin with a word such as "error"."""

_ERROR_WORD: Final = (
    r"(?:(?i:\b\w*(?:error|exception|fatal|critical|failed|failure|abort(?:ed|ing)?|panic|giving up"
    r"|stopp(?:ed|ing)|exiting))\b[\])]*\s*[:—-]+\s*|\b(?:ERROR|FATAL|CRITICAL)\b\W*|[✗✖✘❌!]+\s*)"
)

_ERROR_WORDS: Final = compile_text(f"^.{{0,60}}?{_ERROR_WORD}+")
"""The words that announce an error, at the start of a line, with what stands before them."""

_ERROR_WORD_ALONE: Final = compile_text(
    r"(?i)^[\W_]*(?:\w+ ){0,2}(?:error|fatal|failed|failure|aborted|panic)[\W_]*$"
)
"""A line of an error word only; the next line says what happened."""

_FOOTER: Final = compile_text(
    r"^(?:[$+] |wandb: |make(?:\[\d+\])?: |npm ERR!|Sender: |Subject: |Exited with exit code"
    r"|Job <\d+> was |Resource usage|Resources?: |\s*(?:CPU|Run|Turnaround) time|Read file <"
    r"|\s*(?:Max|Average|Delta|Total Requested) (?:Memory|Swap|Processes|Threads)"
    r"|The output \(if any\)"
    r"|(?:Job ID|Cluster|User/Group|Nodes|Cores(?: per node)?|CPU (?:Utilized|Efficiency)): "
    r"|(?:Job Wall-clock time|Memory (?:Utilized|Efficiency)): |exit status \d+$|\s*Exit code: +\d"
    r"|\s*Process name: \[|mpi(?:run|exec) detected|Primary job +terminated|a non-zero exit code"
    r"|the job to be terminated|(?:##\[error\]|Error: )Process completed with exit code"
    r"|[=*-]{20,}\s*$|Failures:|\s*<NO_OTHER_FAILURES>|Root Cause \(first observed failure\):"
    r"|\[\d+\]:|\s+(?:time|host|rank|exitcode|error_file|traceback)\s*: |\S+ FAILED\s*$"
    r"|[\w.]*ChildFailedError:?\s*$"
    r"|(?:srun|slurmstepd\S*): (?:error: )?(?:\S+: tasks? [\d,-]+: (?:Exited|Terminated|Killed)\b"
    r"|Terminating StepId=|\*\*\* (?:STEP|JOB) |(?:Job step|First task) )"
    r"|(?:mpirun|prterun) (?:noticed|has exited) |command terminated with exit code \d+"
    r"|.*\b(?:Killing subprocess \d+|exits with return code = \d+)\s*$"
    r"|frame #\d+: |Your job looked like"
    r"|Cleaning up |Uploading artifacts|Post job cleanup|# Accounting: "
    r"|# Ended \(code )"
)
"""A line that a shell, a launcher, a build tool or a scheduler writes behind a program, whatever
happened; and a frame of a C++ stack."""

_ERROR_RECORD: Final = compile_bytes(
    rb"(?i)[\"'](?:level|levelname|severity|lvl)[\"'] ?: ?[\"'](?:err|crit|fatal|panic)"
    rb"|^.{0,40}\b(?:error|fatal|critical)\b|^[EF]\d{4} \d\d:"
)
"""The record of an error, as a logger writes it."""

_SAYS_SOMETHING: Final = compile_text(r"[A-Za-z]{2}")
"""A line of words, rather than one that separates others."""

_NO_ERROR: Final = compile_text(r"(?i)^.{0,50}\b(?:info|debug|notice|trace)\b")


class ClosingLine(Struct, frozen=True):
    """One of the closing lines of a log, without its prefixes; ``lines_back`` is 0 for the last.

    ``is_message`` is True for the message of an exception, ``is_error`` for the record of an error,
    ``is_last_word`` for a line that the program may have ended with, to say why, and
    ``is_announced`` for one behind a word such as "error".
    """

    text: PrefixedLine
    reading: LogReading
    offset: int
    lines_back: int
    is_message: bool
    is_error: bool = False
    is_last_word: bool = False
    is_announced: bool = False


def read_closing_lines(
    reading: LogReading, program: CompiledRules, until: int | None = None
) -> Iterator[ClosingLine]:
    """Yield the closing lines of a log, the last first, without the tracebacks that were read.

    Source code says what might be, not what was.  With *until* they are those before that offset.
    Only lines of the program itself count as its words, as launchers write behind them.
    """
    found = list(_read_different_lines(reading, until))
    words = announced = 0
    for line, before in zip_longest(found, found[1:]):
        text = line.text.text.strip()
        is_announced = announced < _ANNOUNCED_WORDS and _is_announced(text, before)
        may_count = is_announced or words < _LAST_WORDS
        if not may_count or not _is_of_program(program, text):
            yield line
            continue
        words += 1
        is_last = words <= _LAST_WORDS and not _NO_ERROR.match(text)
        announced += is_announced and not is_last
        is_last = (is_last or is_announced) and not line.is_message
        yield replace(line, is_last_word=is_last, is_announced=is_announced)


def _read_different_lines(reading: LogReading, until: int | None) -> Iterator[ClosingLine]:
    """Yield the last lines before *until*, the last first; one that ranks repeat only once."""
    quoted = [
        (member.start.offset, member.end.offset)
        for head in reading.tracebacks
        for member in head.chain()
    ]
    messages = {end for _, end in quoted}  # an exception has been asked for its wording
    size = None if until is None else max(0, until - reading.tail_offset)
    tail = reading.tail[:size]
    lines = tail.replace(b"\r", b"\n").split(b"\n")
    at = reading.tail_offset + len(tail) + 1
    texts: set[str] = set()
    for lines_back, piece in enumerate(reversed(lines[-_CLOSING_LINES * _RANKS :])):
        at -= len(piece) + 1
        if not piece.strip() or any(start <= at < end for start, end in quoted):
            continue
        plain = canonicalize(piece)
        line = strip_prefixes(plain)
        if line.text in texts:
            continue
        if len(texts) == _CLOSING_LINES:
            return
        texts.add(line.text)
        is_error = _ERROR_RECORD.search(plain) is not None
        yield ClosingLine(line, reading, at, lines_back, at in messages, is_error)


def _is_of_program(program: CompiledRules, text: str) -> bool:
    """Return whether *text* has words, and no launcher or scheduler wrote them of the program."""
    if not _SAYS_SOMETHING.search(text) or _FOOTER.match(text):
        return False
    roles = {found.pattern.role for found in program.match_exception(text)}
    return not roles & {Role.REPORT, Role.CASCADE}


def _is_announced(text: str, before: ClosingLine | None) -> bool:
    """Return whether an error word begins *text*, or stands alone in the line before it."""
    if _ERROR_WORDS.match(text):
        return True
    return before is not None and _ERROR_WORD_ALONE.match(before.text.text) is not None


def read_message(text: str) -> str:
    """Return the message behind the words that announce an error in *text*; "" without them."""
    announced = _ERROR_WORDS.match(text)
    return text[announced.end() :].strip() if announced else ""
