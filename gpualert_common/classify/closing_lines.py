"""The closing lines of a log that names no cause elsewhere: the last resort."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, Final

from gpualert_common.causes import ANNOUNCED_CAUSES, GENERIC_CAUSES
from gpualert_common.classify.candidates import Candidate, candidate_of_line
from gpualert_common.classify.chain_root import Basis
from gpualert_common.classify.compiled_rules import CompiledRules, PatternMatch, compile_rules
from gpualert_common.classify.line_prefixes import PrefixedLine, strip_prefixes
from gpualert_common.classify.lines import LinePosition, canonicalize
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.observations import Observation, make_observation
from gpualert_common.classify.rules import RulePattern, RuleSet, Scope
from gpualert_common.classify.tracebacks.exception_names import find_bare_exception
from gpualert_common.model import Role
from gpualert_common.regex import compile_bytes, compile_text
from gpualert_common.structs import Struct, replace

_CLOSING_LINES = 100
"""Number of lines at the end of a log in which an exception's message may stand."""

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
    r"|Your job looked like|Cleaning up |Uploading artifacts|Post job cleanup|# Accounting: "
    r"|# Ended \(code )"
)
"""A line that a shell, a build tool or a scheduler writes behind a program, whatever happened."""

_FAILURE_WORD: Final = compile_text(
    r"(?i)\b(?:cannot|can't|couldn't|doesn't|unable|impossible|too|error|fail\w*|fatal|panic\w*"
    r"|exception|abort\w*|stop\w*|giv\w+ up|gave up|quit\w*|leaving|leaves|exit\w*|end(?:s|ed|ing)?"
    r"|terminat\w+|halt\w*|kill\w*|cancel\w*|refus\w+|reject\w+|bye|done for|bad|wrong|broken"
    r"|invalid|illegal|unknown|unmet|missing|absent|lost|gone|dead|lacks?|mismatch\w*|conflict\w*|stuck|hung"
    r"|parked|update one)\b"
)
"""A word by which a program says that something failed, or that it ends."""

_ERROR_RECORD: Final = compile_bytes(
    rb"(?i)[\"'](?:level|levelname|severity|lvl)[\"'] ?: ?[\"'](?:err|crit|fatal|panic)"
    rb"|^.{0,40}\b(?:error|fatal|critical)\b|^[EF]\d{4} \d\d:"
)
"""The record of an error, as a logger writes it."""

_LINES_OF_STATEMENT = 2
"""Lines before one with such a word that may say why."""

_NUMBER: Final = compile_text(r"\d[\d.,:]*")

_LINES_OF_PROGRESS = 3
"""Lines that differ only in their numbers are progress, if there are so many of them."""

_SAYS_SOMETHING: Final = compile_text(r"[A-Za-z]{2}")
"""A line of words, rather than one that separates others."""

_GUESS: Final = compile_text(
    r"(?i)^[$+#>] |\b(?:may|might) (?:have|be)\b|\bcould (?:have|be due)\b"
    r"|\bpossible (?:cause|reason)|\b(?:possibly|perhaps|probably|typically|usually|likely)\b"
    r"|\b(?:potential|e\.g\.|or crashed)\b|^(?:tip|note|hint)s?:|^wandb: |\b[A-Z]\w*Warning: "
)
"""A command that a shell repeats, and words by which a program guesses or advises."""

_GOES_ON: Final = compile_text(
    r"(?i)\b(?:skipp(?:ed|ing)|ignor(?:ed|ing)|retrying|falling back|(?:have|has) been dropped)\b"
    r"|\bcontinu(?:e|es|ing) (?:with|without|anyway|training)|,? continuing$|\bgoing offline\b"
    r"|\b(?:start(?:s|ed|ing)?|begin(?:s|ning)?|training) (?:fresh|anew|from scratch)\b"
    r"|\busing (?:the |its )?defaults?\b|\busing (?:the )?cpu\b|\bweights are random\b"
    r"|[,;.:] ?(?:re-?)?(?:download|comput|creat|load|build|generat|fetch|clean|initiali[sz])ing\b"
    r"|\btraining a new\b"
)
"""Words by which a program goes on."""

_OF_PROGRAM: Final = GENERIC_CAUSES | {"div_zero"}
"""Causes of exceptions that the words of a program explain, rather than those of another tool."""

_NO_ERROR: Final = compile_text(r"(?i)^.{0,50}\b(?:info|debug|notice|trace)\b")

_WARNING: Final = compile_text(r"(?i)^.{0,50}\bwarn(?:ing)?\b")
"""A warning, which is all that many programs make of a notice that they have to stop."""


def match_last_words(program: CompiledRules, text: str) -> list[PatternMatch]:
    """Return the weak patterns that match the line *text*: a message behind "error:", or words."""
    announced = _ERROR_WORDS.match(text)
    message = text[announced.end() :].strip() if announced else ""
    return program.match_message(message, None) or program.match_wordings(text.strip())


def find_last_resort(readings: Sequence[LogReading], rules: RuleSet) -> Candidate | None:
    """Return the cause that the closing lines name, for a log that names none elsewhere.

    Patterns that count only in exceptions are matched against every line here: of some logs only
    the middle of a message is left, and some programs print exceptions in a form of their own.
    Of several matches the first by the order of the rules counts, then the last in the log.  Only
    where there is none, the wording of the program's last words counts, and then their topic, if
    no exception says more.
    """
    program = compile_rules(rules)
    lines = [one for reading in readings for one in _read_closing_lines(reading, program)]
    for find in (_match_exceptions, _match_wordings):
        found = _first_candidate(match for line in lines for match in find(program, line))
        if found is not None:
            return found
    is_raised = any(reading.tracebacks for reading in readings)
    return None if is_raised else _find_topic(program, lines)


def find_in_words(
    readings: Sequence[LogReading],
    rules: RuleSet,
    causes: Container[str],
    chosen: Candidate | None,
) -> Candidate | None:
    """Return the first of *causes* that a closing line names in its own words.

    An exception of a program is explained only by words before it: behind it follows the script.
    """
    program = compile_rules(rules)
    lines = (one for reading in readings for one in _read_closing_lines(reading, program))
    if chosen is not None and chosen.head is not None and chosen.cause in _OF_PROGRAM:
        lines = (
            one
            for one in lines
            if one.reading.file != chosen.file or one.offset < chosen.place.offset
        )
    matches = (match for line in lines for match in _match_wordings(program, line))
    return _first_candidate(one for one in matches if one.pattern.cause in causes)


def find_wordings(reading: LogReading, rules: RuleSet) -> list[PatternMatch]:
    """Return the wordings that match the last words of a log."""
    program = compile_rules(rules)
    found = (_match_wordings(program, line) for line in _read_closing_lines(reading, program))
    return [PatternMatch(one.pattern, one.match) for matches in found for one in matches]


class _ClosingLine(Struct, frozen=True):
    """One of the closing lines of a log, without its prefixes; ``lines_back`` is 0 for the last.

    ``is_message`` is True for the message of an exception, ``is_error`` for the record of an error,
    ``is_last_word`` for a line that the program may have ended with, to say why.
    """

    text: PrefixedLine
    reading: LogReading
    offset: int
    lines_back: int
    is_message: bool
    is_error: bool = False
    is_last_word: bool = False


class _ClosingMatch(Struct, frozen=True):
    """A pattern that matches a closing line."""

    pattern: RulePattern
    match: Any  # of re2, which has no types
    line: _ClosingLine

    def observation(self) -> Observation:
        """Return the match as an observation of its log."""
        reading, offset = self.line.reading, self.line.offset
        behind = reading.tail.count(b"\n", offset - reading.tail_offset)
        place = LinePosition(reading.lines - behind + reading.tail.endswith(b"\n"), offset)
        return make_observation(self.pattern, self.match, self.line.text, reading.file, place)


def _find_topic(program: CompiledRules, lines: Sequence[_ClosingLine]) -> Candidate | None:
    """Return the cause of whose vocabulary the last words use most."""
    shapes = Counter(_NUMBER.sub("#", line.text.text) for line in lines)
    last = [
        line
        for line in lines
        if shapes[_NUMBER.sub("#", line.text.text)] < _LINES_OF_PROGRESS
        and _is_statement(program, line)
        and not _WARNING.match(line.text.text)
    ]
    failures = [at for at, line in enumerate(last) if _says_failure(line)]
    last = [  # the last comes first, and it may only have written what it does
        line
        for at, line in enumerate(last)
        if any(0 <= at - failure <= _LINES_OF_STATEMENT for failure in failures)
    ]
    topic = program.match_topic(line.text.text for line in last)
    if topic is None:
        return None
    found = ((match, line) for line in last for match in program.match_words(topic, line.text.text))
    match, line = next(found)
    candidate = candidate_of_line(_ClosingMatch(topic, match, line).observation(), line.reading)
    return None if candidate.is_followed_by_progress else replace(candidate, basis=Basis.TOPIC)


def _says_failure(line: _ClosingLine) -> bool:
    """Return whether the program says in *line* that something failed, or that it ends."""
    return line.is_error or _FAILURE_WORD.search(line.text.text) is not None


def _first_candidate(matches: Iterable[_ClosingMatch]) -> Candidate | None:
    """Return the first by the order of the rules, then the last in the log, that ended the run."""
    for match in sorted(matches, key=lambda one: (one.pattern.order, one.line.lines_back)):
        candidate = candidate_of_line(match.observation(), match.line.reading)
        if not candidate.is_followed_by_progress:
            is_wording = match.pattern.where is Scope.WORDING
            basis = Basis.LAST_WORDS if is_wording else Basis.CLOSING_LINE
            return replace(candidate, basis=basis)
    return None


def _read_closing_lines(reading: LogReading, program: CompiledRules) -> Iterator[_ClosingLine]:
    """Yield the closing lines of a log, the last first, without the tracebacks that were read.

    Source code says what might be, not what was.  Only different lines of the program itself count
    as its words: ranks repeat each other, and launchers write behind them.
    """
    quoted = [
        (member.start.offset, member.end.offset)
        for head in reading.tracebacks
        for member in head.chain()
    ]
    messages = {end for _, end in quoted}  # an exception has been asked for its wording
    lines = reading.tail.replace(b"\r", b"\n").split(b"\n")
    at = reading.tail_offset + len(reading.tail) + 1
    found: list[_ClosingLine] = []
    for lines_back, piece in enumerate(reversed(lines[-_CLOSING_LINES:])):
        at -= len(piece) + 1
        if not piece.strip() or any(start <= at < end for start, end in quoted):
            continue
        plain = canonicalize(piece)
        is_error = _ERROR_RECORD.search(plain) is not None
        text = strip_prefixes(plain)
        found.append(_ClosingLine(text, reading, at, lines_back, at in messages, is_error))
    words: set[str] = set()
    announced: set[str] = set()
    for line, before in zip(found, (*found[1:], None), strict=False):
        words_of_line = line.text.text.strip()
        if not _is_of_program(program, words_of_line):
            yield line
            continue
        words.add(words_of_line)
        is_last = len(words) <= _LAST_WORDS and not _NO_ERROR.match(words_of_line)
        is_rare = len(announced) < _ANNOUNCED_WORDS
        if not is_last and is_rare and _is_announced(words_of_line, before):
            announced.add(words_of_line)
            is_last = True
        yield replace(line, is_last_word=is_last and not line.is_message)


def _is_of_program(program: CompiledRules, text: str) -> bool:
    """Return whether *text* has words, and no launcher or scheduler wrote them of the program."""
    if not _SAYS_SOMETHING.search(text) or _FOOTER.match(text):
        return False
    roles = {found.pattern.role for found in program.match_exception(text)}
    return not roles & {Role.REPORT, Role.CASCADE}


def _is_announced(text: str, before: _ClosingLine | None) -> bool:
    """Return whether an error word begins *text*, or stands alone in the line before it."""
    if _ERROR_WORDS.match(text):
        return True
    return before is not None and _ERROR_WORD_ALONE.match(before.text.text) is not None


def _match_exceptions(program: CompiledRules, line: _ClosingLine) -> Iterator[_ClosingMatch]:
    text = line.text.text
    if _GOES_ON.search(text) and find_bare_exception(text) is None:
        return
    for pattern, match in program.match_exception(text):
        if pattern.role is Role.ROOT:
            yield _ClosingMatch(pattern, match, line)


def _is_statement(program: CompiledRules, line: _ClosingLine) -> bool:
    """Return whether the program says in *line* what happened.

    A report, a consequence, or a text that only resembles a failure is no such line.
    """
    text = line.text.text
    if not line.is_last_word or _GUESS.search(text) or _GOES_ON.search(text):
        return False
    return all(pattern.role is Role.ROOT for pattern, _ in program.match_exception(text))


def _match_wordings(program: CompiledRules, line: _ClosingLine) -> Iterator[_ClosingMatch]:
    text = line.text.text
    if not _is_statement(program, line):
        return
    is_warning = _WARNING.match(text) is not None
    for pattern, match in match_last_words(program, text):
        if not is_warning or pattern.cause in ANNOUNCED_CAUSES:
            yield _ClosingMatch(pattern, match, line)
