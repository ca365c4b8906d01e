"""The closing lines of a log that names no cause elsewhere: the last resort."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, Final

from gpualert_common.causes import GENERIC_CAUSES
from gpualert_common.classify.candidates import Candidate, candidate_of_line
from gpualert_common.classify.chain_root import Basis
from gpualert_common.classify.compiled_rules import CompiledRules, PatternMatch, compile_rules
from gpualert_common.classify.line_prefixes import PrefixedLine, strip_prefixes
from gpualert_common.classify.lines import LinePosition, canonicalize
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.observations import Observation, make_observation
from gpualert_common.classify.rules import RulePattern, RuleSet, Scope
from gpualert_common.model import Role
from gpualert_common.regex import compile_text
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

_NO_STATEMENT: Final = compile_text(
    r"(?i)^[$+#>] |\b(?:may|might) (?:have|be)\b|\bcould (?:have|be due)\b"
    r"|\b(?:possible|potential|common) (?:root )?(?:cause|reason)"
    r"|\b(?:possibly|perhaps|probably|typically|usually|likely)\b"
    r"|\b(?:potential\b|e\.g\.|or crashed\b)|^(?:tip|note|hint)s?:"
    r"|\b(?:skipp(?:ed|ing)|dropping|ignor(?:ed|ing)|retrying|falling back)\b"
    r"|\b(?:have|has) been dropped\b"
    r"|\bcontinu(?:e|es|ing) (?:with|without|anyway|training)|,? continuing$|\bgoing offline\b"
    r"|\b(?:start(?:s|ed|ing)?|begin(?:s|ning)?|training) (?:fresh|anew|from scratch)\b"
    r"|\busing (?:the |its )?defaults?\b"
    r"|[,;.:] ?(?:re-?)?(?:download|comput|creat|load|build|generat|fetch|clean|initiali[sz])ing\b"
    r"|\btraining a new\b|^wandb: |\b[A-Z]\w*Warning: "
)
"""A command that a shell repeats, and words by which a program guesses, advises, or goes on."""

_SUMMARY: Final = compile_text(
    r"^(?:[=*-]{20,}|Failures:|\s*<NO_OTHER_FAILURES>|Root Cause \(first observed failure\):"
    r"|\[\d+\]:|\s+(?:time|host|rank|exitcode|error_file|traceback)\s*: .*|\S+ FAILED"
    r"|[\w.]*ChildFailedError:?"
    r"|(?:srun|slurmstepd\S*): (?:error: )?(?:\S+: tasks? [\d,-]+: (?:Exited|Terminated|Killed)\b.*"
    r"|Terminating StepId=.*|\*\*\* (?:STEP|JOB) .*|(?:Job step|First task) .*)"
    r"|(?:mpirun|prterun) (?:detected|noticed|has exited) .*|make(?:\[\d+\])?: \*\*\* .*"
    r"|Primary job +terminated normally.*|a non-zero exit code\. .*|the job to be terminated\. .*"
    r"|\s*Process name: \[\[.*|\s*Exit code: +\d+|command terminated with exit code \d+"
    r"|.*\b(?:Killing subprocess \d+|exits with return code = \d+))\s*$"
)
"""Lines in which torchrun, Slurm, MPI, make, kubectl and DeepSpeed sum up how a job ended."""

_DENIAL: Final = compile_text(
    r"(?i)\b(?:not?|cannot|\w+n't|never|without|nothing|none|neither|nowhere|missing|lacks?|absent"
    r"|lost|gone|dead|bad|wrong|broken?|invalid|illegal|unknown|unexpected|undefined|impossible"
    r"|unusable|unreachable|unavailable|unreadable|unsupported|fail(?:s|ed|ures?)?|refus\w+"
    r"|reject\w+|den(?:y|ied)|forbidden|abort\w*|fatal|incomplete|inconsistent|incompatible"
    r"|mismatch\w*|differ(?:s|ent)?|exceed\w*|beyond|instead of|expired|time-?out|timed out|hung"
    r"|hangs?|stuck|corrupt\w*|damaged|truncated|uncorrectable|unrecoverable|explod\w+|diverg\w+"
    r"|nan|inf|killed|too (?:many|few|long|short|large|small|big|little|old|new|high|low)"
    r"|expect(?:s|ed)|empty|only|disagree\w*|conflict\w*|contradict\w*|overflow\w*|fault\w*)\b"
)
"""Words that deny or complain: the line is not about ordinary progress."""

_END: Final = compile_text(
    r"(?i)(?:^|[\s:,;.(\]|>-])(?:exit(?:s|ing)?|stop(?:s|ped|ping)?|abort(?:s|ed|ing)?"
    r"|quit(?:s|ting)?|leav(?:es?|ing)|bye|end|halt(?:s|ed|ing)?|giv(?:es?|ing|en) up|gave up"
    r"|terminat(?:es?|ed|ing)|refus(?:es?|ed|ing)|bail(?:s|ed|ing)? out|shutting down"
    r"|nothing (?:was |to )?(?:run|do(?:ne)?))\b[^=:]{0,24}$"
)
"""Words by which a program ends itself: the line, or the one before, is the reason."""

_OF_PROGRAM: Final = GENERIC_CAUSES | {"div_zero"}
"""Causes of exceptions that the words of a program explain, rather than those of another tool."""

_OTHER_LINES: Final = 1
"""Number of lines among and behind the last complaints that are about something else."""

_BASES: Final = {Scope.WORDING: Basis.LAST_WORDS, Scope.TOPIC: Basis.TOPIC}

_NO_ERROR: Final = compile_text(r"(?i)^.{0,50}\b(?:info|debug|warn(?:ing)?|notice|trace)\b")


def match_last_words(program: CompiledRules, text: str) -> list[PatternMatch]:
    """Return the weak patterns that match the line *text*: a message behind "error:", or words."""
    announced = _ERROR_WORDS.match(text)
    message = text[announced.end() :].strip() if announced else ""
    return [*program.match_message(message, None), *program.match_wordings(text.strip())]


def match_denied_topics(program: CompiledRules, text: str) -> list[PatternMatch]:
    """Return the topics of the line *text*, if it is a complaint; one for each different word."""
    return program.match_topics(text) if _is_complaint(text) else []


def find_last_resort(
    readings: Sequence[LogReading], rules: RuleSet, *, has_failed: bool
) -> Candidate | None:
    """Return the cause that the closing lines name, for a log that names none elsewhere.

    Patterns that count only in exceptions are matched against every line here: of some logs only
    the middle of a message is left, and some programs print exceptions in a form of their own.
    The wording of the program's last words counts, too.  Of several matches the first by the order
    of the rules counts, then the last in the log.  Where there is none, and the run *has_failed*
    for certain, the topic counts of which the last words have the most different words.
    """
    program = compile_rules(rules)
    lines = [one for reading in readings for one in _read_closing_lines(reading, program)]
    finders = (_match_exceptions, _match_wordings)
    found = _first_candidate(
        match for line in lines for find in finders for match in find(program, line)
    )
    if found is None and has_failed:
        found = _first_candidate(_match_main_topic(program, readings))
    return found


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
    """Return the wordings, and the topic, that match the last words of a log."""
    program = compile_rules(rules)
    found = [_match_main_topic(program, [reading])]
    found += [
        list(_match_wordings(program, line)) for line in _read_closing_lines(reading, program)
    ]
    return [PatternMatch(one.pattern, one.match) for matches in found for one in matches]


class _ClosingLine(Struct, frozen=True):
    """One of the closing lines of a log, without its prefixes; ``lines_back`` is 0 for the last.

    ``is_last_word`` is True for a line that the program may have ended with, to say why.
    """

    text: PrefixedLine
    reading: LogReading
    offset: int
    lines_back: int
    is_last_word: bool


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


def _first_candidate(matches: Iterable[_ClosingMatch]) -> Candidate | None:
    """Return the first by the order of the rules, then the last in the log, that ended the run."""
    for match in sorted(matches, key=lambda one: (one.pattern.order, one.line.lines_back)):
        candidate = candidate_of_line(match.observation(), match.line.reading)
        if not candidate.is_followed_by_progress:
            return replace(candidate, basis=_BASES.get(match.pattern.where, Basis.CLOSING_LINE))
    return None


def _read_closing_lines(reading: LogReading, program: CompiledRules) -> Iterator[_ClosingLine]:
    """Yield the closing lines of a log, the last first, without the tracebacks that were read.

    Source code says what might be, not what was.  Reports of launchers are no words of a program.
    """
    quoted = [
        (member.start.offset, member.end.offset)
        for head in reading.tracebacks
        for member in head.chain()
    ]
    messages = {end for _, end in quoted}  # an exception has been asked for its wording
    lines = reading.tail.replace(b"\r", b"\n").split(b"\n")
    at = reading.tail_offset + len(reading.tail) + 1
    words = announced = 0
    for lines_back, piece in enumerate(reversed(lines[-_CLOSING_LINES:])):
        at -= len(piece) + 1
        if not piece.strip() or any(start <= at < end for start, end in quoted):
            continue
        line = strip_prefixes(canonicalize(piece))
        if _is_report(program, line.text):
            continue
        words += 1
        is_last = words <= _LAST_WORDS and not _NO_ERROR.match(line.text)
        if not is_last and announced < _ANNOUNCED_WORDS:
            is_last = _ERROR_WORDS.match(line.text) is not None
            announced += is_last
        is_last = is_last and at not in messages
        yield _ClosingLine(line, reading, at, lines_back, is_last)


def _match_exceptions(program: CompiledRules, line: _ClosingLine) -> Iterator[_ClosingMatch]:
    for pattern, match in program.match_exception(line.text.text):
        if pattern.role is Role.ROOT:
            yield _ClosingMatch(pattern, match, line)


def _match_wordings(program: CompiledRules, line: _ClosingLine) -> Iterator[_ClosingMatch]:
    text = line.text.text
    if not line.is_last_word or _NO_STATEMENT.search(text):
        return
    if _resembles_failure(program, text):
        return
    for pattern, match in match_last_words(program, text):
        yield _ClosingMatch(pattern, match, line)


def _resembles_failure(program: CompiledRules, text: str) -> bool:
    """Return whether the line is a report, a consequence, or only resembles a failure."""
    return any(pattern.role is not Role.ROOT for pattern, _ in program.match_exception(text))


def _is_report(program: CompiledRules, text: str) -> bool:
    """Return whether a launcher reports in the line *text* that its workers have ended."""
    if _SUMMARY.match(text):
        return True
    roles = {pattern.role for pattern, _ in program.match_exception(text)}
    return not roles.isdisjoint((Role.REPORT, Role.CASCADE))


def _match_main_topic(
    program: CompiledRules, readings: Iterable[LogReading]
) -> list[_ClosingMatch]:
    """Return the matches of the cause of whose topic the last complaints have the most words."""
    found: dict[str, dict[tuple[str, int, str], _ClosingMatch]] = {}
    for line in (line for reading in readings for line in _read_complaints(reading, program)):
        for pattern, match in program.match_topics(line.text.text):
            words = found.setdefault(pattern.cause, {})
            word = (line.reading.file, line.offset, match.group().lower())
            words[word] = _ClosingMatch(pattern, match, line)
    most = max(map(len, found.values()), default=0)
    return [match for words in found.values() if len(words) == most for match in words.values()]


def _read_complaints(reading: LogReading, program: CompiledRules) -> Iterator[_ClosingLine]:
    """Yield the last complaints of a log, and reasons of an end that the next line announces."""
    others = 0
    is_reason = False
    for line in _read_closing_lines(reading, program):
        text = line.text.text
        complains = is_reason or _is_complaint(text)
        others += not complains
        if others > _OTHER_LINES:
            return
        if complains and line.is_last_word and not _NO_STATEMENT.search(text):
            yield line
        is_reason = _END.search(text) is not None


def _is_complaint(text: str) -> bool:
    return _DENIAL.search(text) is not None or _END.search(text) is not None
