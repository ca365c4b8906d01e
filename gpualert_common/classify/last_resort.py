"""The last resort: causes by the closing lines of a log that names none elsewhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, Final

from gpualert_common.causes import ANNOUNCED_CAUSES, COMMUNICATION_CAUSES, GENERIC_CAUSES
from gpualert_common.classify.candidates import Candidate, candidate_of_line
from gpualert_common.classify.chain_root import Basis
from gpualert_common.classify.closing_lines import ClosingLine, read_closing_lines, read_message
from gpualert_common.classify.compiled_rules import CompiledRules, PatternMatch, compile_rules
from gpualert_common.classify.lines import LinePosition
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.observations import Observation, make_observation
from gpualert_common.classify.rules import RulePattern, RuleSet, Scope
from gpualert_common.classify.tracebacks.exception_names import find_bare_exception
from gpualert_common.model import Role
from gpualert_common.regex import compile_text
from gpualert_common.structs import Struct, replace

_FAILURE_WORD: Final = compile_text(
    r"(?i)\b(?:cannot|can't|couldn't|doesn't|unable|impossible|too|error|fail\w*|fatal|panic\w*"
    r"|exception|abort\w*|stop\w*|giv\w+ up|gave up|quit\w*|leaving|leaves|exit\w*|end(?:s|ed|ing)?"
    r"|terminat\w+|halt\w*|kill\w*|cancel\w*|refus\w+|reject\w+|bye|done for|bad|wrong|broken"
    r"|invalid|illegal|unknown|unmet|missing|absent|lost|gone|dead|lacks?|mismatch\w*|conflict\w*"
    r"|stuck|hung)\b"
)
"""A word by which a program says that something failed, or that it ends."""

_LINES_OF_STATEMENT = 2
"""Lines before one with such a word that may say why."""

_NUMBER: Final = re.compile(r"\d[\d.,:]*")

_LINES_OF_PROGRESS = 3
"""Lines that differ only in their numbers are progress, if there are so many of them."""

_GUESS: Final = compile_text(
    r"(?i)^[$+#>] |\b(?:may|might) (?:have|be)\b|\bcould (?:have|be due)\b"
    r"|\b(?:possible|potential|common) (?:root )?(?:cause|reason)"
    r"|\b(?:possibly|perhaps|probably|typically|usually|likely)\b"
    r"|\b(?:potential\b|e\.g\.|or crashed\b)|^(?:tip|note|hint)s?:|^wandb: |\b[A-Z]\w*Warning: "
)
"""A command that a shell repeats, and words by which a program guesses or advises."""

_GOES_ON: Final = compile_text(
    r"(?i)\b(?:skipp(?:ed|ing)|dropping|ignor(?:ed|ing)|retrying|falling back)\b"
    r"|\b(?:have|has) been dropped\b"
    r"|\bcontinu(?:e|es|ing) (?:with|without|anyway|training)|,? continuing$|\bgoing offline\b"
    r"|\b(?:start(?:s|ed|ing)?|begin(?:s|ning)?|training) (?:fresh|anew|from scratch)\b"
    r"|\busing (?:the |its )?defaults?\b|\busing (?:the )?cpu\b|\bweights are random\b"
    r"|[,;.:] ?(?:re-?)?(?:download|comput|creat|load|build|generat|fetch|clean|initiali[sz])ing\b"
    r"|\btraining a new\b"
)
"""Words by which a program goes on."""

_WARNING: Final = compile_text(r"(?i)^.{0,50}\bwarn(?:ing)?\b")
"""A warning, which is all that many programs make of a notice that they have to stop."""

_OF_PROGRAM: Final = GENERIC_CAUSES | {"div_zero"}
"""Causes of exceptions that the words of a program explain, rather than those of another tool."""


def match_last_words(program: CompiledRules, text: str) -> list[PatternMatch]:
    """Return the weak patterns that match the line *text*: a message behind "error:", or words."""
    message = program.match_message(read_message(text), None)
    return [*message, *program.match_wordings(text.strip())]


def find_last_resort(
    readings: Sequence[LogReading], rules: RuleSet, reports: Sequence[Candidate]
) -> Candidate | None:
    """Return the cause that the closing lines name, for a log that names none elsewhere.

    Patterns that count only in exceptions are matched against every line here: of some logs only
    the middle of a message is left, and some programs print exceptions in a form of their own.
    The wording of the program's last words counts, too.  Of several matches the first by the order
    of the rules counts, then the last in the log; where there is none, and no exception, the topic
    of the last words.  *reports* are those of other ranks and launchers; if they fill the end
    of a log, the lines before them are asked, too.
    """
    program = compile_rules(rules)
    known = {one.cause for one in reports}
    is_raised = any(reading.tracebacks for reading in readings)
    ends: list[dict[str, int]] = [{}, _first_offsets(reports)] if reports else [{}]
    for before in ends:
        lines = [
            line
            for one in readings
            for line in read_closing_lines(one, program, before.get(one.file))
        ]
        matches = (
            match
            for line in lines
            for find in (_match_exceptions, _match_wordings)
            for match in find(program, line)
        )
        found = _first_candidate(one for one in matches if one.pattern.cause not in known)
        if found is None and not is_raised:
            found = _find_topic(program, lines)
        if found is not None:
            return found
    return None


def find_before_lost_peer(
    readings: Sequence[LogReading], rules: RuleSet, reports: Iterable[Candidate]
) -> Candidate | None:
    """Return the cause that a program announced before the first of *reports* of a lost peer."""
    first = _first_offsets(reports)
    program = compile_rules(rules)
    lines = (
        line
        for reading in readings
        for line in read_closing_lines(reading, program, first.get(reading.file))
        if line.is_announced
    )
    matches = (match for line in lines for match in _match_wordings(program, line))
    return _first_candidate(one for one in matches if one.pattern.cause not in COMMUNICATION_CAUSES)


def _first_offsets(reports: Iterable[Candidate]) -> dict[str, int]:
    """Return the offset of the first of *reports* in each log."""
    ordered = sorted(reports, key=lambda one: one.place.offset, reverse=True)
    return {one.file: one.place.offset for one in ordered}


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
    lines = (one for reading in readings for one in read_closing_lines(reading, program))
    if chosen is not None and chosen.head is not None and chosen.cause in _OF_PROGRAM:
        lines = (
            one
            for one in lines
            if one.reading.file != chosen.file or one.offset < chosen.place.offset
        )
    matches = (match for line in lines for match in _match_wordings(program, line))
    return _first_candidate(one for one in matches if one.pattern.cause in causes)


def find_weak_patterns(reading: LogReading, rules: RuleSet) -> list[RulePattern]:
    """Return the wordings, and the topic, that match the last words of a log."""
    program = compile_rules(rules)
    lines = list(read_closing_lines(reading, program))
    found = [one.pattern for line in lines for one in _match_wordings(program, line)]
    topic = _find_topic(program, lines)
    return [*found, *(() if topic is None else (topic.observations[0].pattern,))]


class _ClosingMatch(Struct, frozen=True):
    """A pattern that matches a closing line."""

    pattern: RulePattern
    match: Any  # of re2, which has no types
    line: ClosingLine

    def observation(self) -> Observation:
        """Return the match as an observation of its log."""
        reading, offset = self.line.reading, self.line.offset
        behind = reading.tail.count(b"\n", offset - reading.tail_offset)
        place = LinePosition(reading.lines - behind + reading.tail.endswith(b"\n"), offset)
        return make_observation(self.pattern, self.match, self.line.text, reading.file, place)


def _first_candidate(matches: Iterable[_ClosingMatch]) -> Candidate | None:
    """Return the first by the order of the rules, then the last in the log, that ended the run."""
    for match in sorted(matches, key=lambda one: (one.pattern.order, one.line.lines_back)):
        candidate = candidate_of_line(match.observation(), match.line.reading)
        if not candidate.is_followed_by_progress:
            is_wording = match.pattern.where is Scope.WORDING
            basis = Basis.LAST_WORDS if is_wording else Basis.CLOSING_LINE
            return replace(candidate, basis=basis)
    return None


def _match_exceptions(program: CompiledRules, line: ClosingLine) -> Iterator[_ClosingMatch]:
    text = line.text.text
    if _GOES_ON.search(text) and find_bare_exception(text) is None:
        return
    for pattern, match in program.match_exception(text):
        if pattern.role is Role.ROOT:
            yield _ClosingMatch(pattern, match, line)


def _match_wordings(program: CompiledRules, line: ClosingLine) -> Iterator[_ClosingMatch]:
    text = line.text.text
    if not _is_statement(program, line):
        return
    is_warning = _WARNING.match(text) is not None
    for pattern, match in match_last_words(program, text):
        if not is_warning or pattern.cause in ANNOUNCED_CAUSES:
            yield _ClosingMatch(pattern, match, line)


def _is_statement(program: CompiledRules, line: ClosingLine) -> bool:
    """Return whether the program says in *line* what happened.

    A report, a consequence, or a text that only resembles a failure is no such line.
    """
    text = line.text.text
    if not line.is_last_word or _GUESS.search(text) or _GOES_ON.search(text):
        return False
    return all(pattern.role is Role.ROOT for pattern, _ in program.match_exception(text))


def _find_topic(program: CompiledRules, lines: Sequence[ClosingLine]) -> Candidate | None:
    """Return the cause of whose vocabulary the last words use most."""
    shapes = [_NUMBER.sub("#", line.text.text) for line in lines]
    counts = Counter(shapes)
    last = [
        line
        for line, shape in zip(lines, shapes, strict=True)
        if counts[shape] < _LINES_OF_PROGRESS
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


def _says_failure(line: ClosingLine) -> bool:
    """Return whether the program says in *line* that something failed, or that it ends."""
    return line.is_error or _FAILURE_WORD.search(line.text.text) is not None
