"""From what was seen in a log to what could have ended the run: candidates for the root cause."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import islice
from operator import attrgetter
from typing import Final, NamedTuple

from gpualert_common.causes import (
    COMMUNICATION,
    GENERIC,
    LASTING,
    MISMATCHES,
    RESOURCES,
    SCHEDULED,
    SIGNALLED,
)
from gpualert_common.classify.compiled_rules import compile_rules
from gpualert_common.classify.exception_names import is_aftermath, is_report
from gpualert_common.classify.line_prefixes import strip_prefixes
from gpualert_common.classify.lines import LinePosition, canonicalize
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.observations import Observation, make_observation
from gpualert_common.classify.progress_marks import PROGRESS_MARK
from gpualert_common.classify.rules import RuleSet
from gpualert_common.classify.traceback_lines import is_progress_bar
from gpualert_common.classify.traceback_model import ChainLink, Context, Traceback
from gpualert_common.model import Role
from gpualert_common.regex import compile_bytes

_LAST_WORD_LINES = 3
"""Lines that may stand behind the end of a run: a redrawn bar, a line flushed late."""

_LAST_RESORT_LINES = 100
_FAR_FROM_END = 40

_RECORD: Final = compile_bytes(rb"\b(?:INFO|DEBUG|NOTICE)\b")
"""What a program that goes on logs; what the runtime says while it goes down is a warning."""

_LEAVING: Final = compile_bytes(
    rb"(?i)\b(?:drain|stop|exit|terminat|abort|shut|leav|quit|interrupt)\w*|\bsaving\b"
)
"""What a program does about a signal that ends it; others only make it rotate its log."""
_COMPLETED: Final = compile_bytes(rb"(?i)\b(?:completed?|finish\w*|done|success\w*)\b")
_TRAINED: Final = compile_bytes(
    rb"(?i)\btraining (?:of \w+ )?(?:is |was |has )?(?:done|completed?|finished|over)\b"
    rb"|['\"]train_runtime['\"]"
)
_WRITTEN: Final = compile_bytes(
    rb"(?i)\bwrote \S+\.\w"
    rb"|\b(?:saved|wrote|written)\b.{0,80}(?:checkpoint|ckpt|model|state|\.pt)"
    rb"|(?:checkpoint|ckpt|\.pt\w?)\b.{0,60}\b(?:saved|written)\b|remounting filesystem read-only"
)
_PARTING_LINES = 4
"""Lines that a program which is told to stop may write until it has."""

_NEAR_END_LINES = 300
"""How far from the end a line without a traceback is still taken for what ended the run."""

_NEARBY_LINES = 40
"""How far from an exception that ended a process such a line may have to do with it."""

_FINITE_LOSS: Final = compile_bytes(
    rb"(?i)\bloss(?:_[a-z]{1,9})?['\"]?\s{0,2}[:= ]\s{0,2}['\"]?-?"
    rb"(?:0\.0{0,9}[1-9]|[1-9][\d.]{0,9}[^\d.])"
)
_SUMMARY: Final = compile_bytes(rb"(?i)best|lowest|\bmin\b|initial|restor|scale|final|average")
_FINITE_LOSSES = 2
"""Told of steps behind the last bad value they show that it was passing."""

_PROGRESS_STEPS = 3
"""Different step numbers after a failure that show that training went on."""

_GRACE_STEPS = 50
"""As many may still be told between a scheduler's notice and the end that it announces."""


class Tier(IntEnum):
    """How telling a candidate is; the lower goes first, then the earlier."""

    CONFIRMED = 0
    SPECIFIC = 1
    GENERIC = 2
    COMMUNICATION = 3
    STATUS = 4
    CASCADE = 5


class Ground(IntEnum):
    """What a candidate rests on, best last."""

    GUESS = 0
    LINE = 1
    PLACE = 2
    TYPE = 3
    MESSAGE = 4
    CONFIRMATION = 5


@dataclass(frozen=True, slots=True)
class Candidate:
    """A cause that the log names, where it does, and what stands behind it.

    ``went_on``: training made progress after it; ``near_end``: only a few hundred lines follow;
    ``last_word``: next to nothing does.  ``head`` is the last exception of a chain, ``traceback``
    the one in it that carries the cause.  ``observations`` are the matches behind it, the most
    telling first.
    """

    cause: str
    tier: Tier
    ground: Ground
    file: str
    place: LinePosition
    rank: int | None
    observations: tuple[Observation, ...]
    traceback: Traceback | None
    head: Traceback | None
    went_on: bool
    near_end: bool
    last_word: bool


def candidates(reading: LogReading, rules: RuleSet) -> list[Candidate]:
    """Everything in *reading* that could have ended the run, in the order of the file.

    Exceptions that the interpreter ignored are none, but for an output that nobody read; neither
    are launchers' reports of a failed child.
    """
    members = [member for head in reading.tracebacks for member in head.chain()]
    taken = {id(one) for member in members for one in member.observations}
    result = []
    for head in reading.tracebacks:
        if head.context is not Context.IGNORED or "Broken pipe" in head.text:
            result += _of_traceback(head, reading, rules)
    for one in reading.observations:
        if id(one) not in taken and one.role in (Role.ROOT, Role.CONFIRMATION, Role.CASCADE):
            result += _of_line(one, reading)
    return sorted(result, key=lambda entry: entry.place.offset)


def went_on(reading: LogReading, offset: int, steps: int = _PROGRESS_STEPS) -> bool:
    """True when training made *steps* of progress behind *offset*, as far as the end shows."""
    first = bisect_left(reading.progress, (offset, 0))
    return first < len(reading.progress) and reading.progress[first][1] >= steps


def is_afterwards(one: Candidate, reading: LogReading) -> bool:
    """True for what befell a thread when the training was through: the process goes down."""
    if one.file != reading.file or one.head is None or one.head.context is not Context.THREAD:
        return False
    before = reading.tail[: max(0, one.head.start.offset - reading.tail_offset)]
    done = list(_TRAINED.finditer(before))
    return bool(done) and PROGRESS_MARK.search(before, done[-1].end()) is None


def _recovered(reading: LogReading, offset: int) -> bool:
    """True when the loss was finite again behind *offset*, as far as the end shows."""
    behind = reading.tail[max(0, offset - reading.tail_offset) :].partition(b"\n")[2]
    lines = [line for line in canonicalize(behind).split(b"\n") if PROGRESS_MARK.search(line)]
    lines = [line for line in lines if not _SUMMARY.search(line)]
    finite = (
        line
        for line in lines
        if _FINITE_LOSS.search(line) and not is_progress_bar(line.decode("latin1"))
    )
    return len(list(islice(finite, _FINITE_LOSSES))) == _FINITE_LOSSES


def is_last_word(reading: LogReading, place: LinePosition, *, leaving: bool = False) -> bool:
    """True when next to nothing stands behind *place*, and no logger's record among it.

    A program that said there that it is *leaving* may still say how, but not that it is through
    with its work.
    """
    if place.offset < reading.tail_offset or reading.lines - place.line > _FAR_FROM_END:
        return False
    after = canonicalize(reading.tail[place.offset - reading.tail_offset :]).split(b"\n")[1:]
    lines = [line for line in after if line.strip()]
    if leaving and len(lines) <= _PARTING_LINES:
        return not any(_COMPLETED.search(line) for line in lines)
    if len(lines) > _LAST_WORD_LINES:
        return False
    return not any(_RECORD.search(line) for line in lines)


def _is_leaving(one: Observation) -> bool:
    own_words = one.cause == "cancelled" and one.role is Role.CASCADE
    return own_words and _LEAVING.search(one.excerpt.encode()) is not None


def is_near_end(reading: LogReading, place: LinePosition) -> bool:
    """True when *place* is within the last few hundred lines."""
    return reading.lines - place.line <= _NEAR_END_LINES


def surviving(found: Sequence[Candidate]) -> list[Candidate]:
    """*found* without exceptions that their process outlived.

    An uncaught exception is the last of its process.  So of the tracebacks of one stream only the
    last counts (and the last that is not about communication: the other ranks may write to the
    same stream); those of threads and worker processes stand for themselves.
    """
    alive = [one for one in found if not one.went_on]
    last: dict[tuple[str, str, Tier], Traceback] = {}
    bare: dict[tuple[str, str], Traceback] = {}
    whole: set[tuple[str, str]] = set()
    for one in alive:
        if one.head is not None and one.head.context is Context.MAIN:
            last[_process(one)] = one.head
            whole.add((one.file, one.head.stream))
        elif one.head is not None and one.head.context is Context.BARE:
            bare[one.file, one.head.stream] = one.head

    def survives(one: Candidate) -> bool:
        if one.head is None:
            return True
        if one.head.context is Context.MAIN:
            return last[_process(one)] is one.head
        if one.head.context is Context.BARE:
            stream = (one.file, one.head.stream)
            return stream not in whole and bare[stream] is one.head
        return True

    return [one for one in alive if survives(one)]


def near_failure(found: Sequence[Candidate]) -> list[Candidate]:
    """*found* without lines that stand too far from what ended the run to explain it.

    That is the exceptions among *found*; without any, the end of the log.
    """
    raised = [one for one in found if one.traceback is not None and one.tier < Tier.COMMUNICATION]

    def near(one: Candidate) -> bool:
        telling = one.tier is Tier.CONFIRMED or one.cause in LASTING | SIGNALLED | SCHEDULED
        if one.traceback is not None or telling:
            return one.near_end
        return (one.near_end and not raised) or any(
            one.file == other.file and one.place.line - other.place.line >= -_NEARBY_LINES
            for other in raised
        )

    return [one for one in found if near(one)]


def _process(one: Candidate) -> tuple[str, str, Tier]:
    """Which process an exception ended, as far as the log tells them apart.

    What ranks say of one another, and what launchers say of ranks, often stands in one stream
    with the exception that it followed.
    """
    stream = one.head.stream if one.head is not None else ""
    said_of_others = one.tier in (Tier.COMMUNICATION, Tier.CASCADE)
    return one.file, stream, one.tier if said_of_others else Tier.GENERIC


def _of_traceback(head: Traceback, reading: LogReading, rules: RuleSet) -> list[Candidate]:
    named = []
    for member in head.chain():
        observations = _ordered(member.observations)
        cause, ground = _cause_of(member, observations, rules)
        named.append(_Named(member, observations, cause, ground))
    roots = [one for one in named if not one.followed]
    if not any(one.telling for one in roots) and named[-1].followed:
        return _of_line(named[-1].observations[0], reading, head)
    member, observations, named_cause, ground = _root_of_chain(roots)
    cause = _worn(named_cause, member.text, reading, head.start)
    return [
        Candidate(
            cause=cause,
            tier=_tier_of(member, cause, ground),
            ground=ground,
            file=head.file,
            place=member.end,
            rank=member.rank,
            observations=tuple(one for one in observations if one.cause == named_cause),
            traceback=member,
            head=head,
            went_on=went_on(reading, head.end.offset),
            near_end=True,
            last_word=is_last_word(reading, head.end),
        )
    ]


def _of_line(
    one: Observation, reading: LogReading, head: Traceback | None = None
) -> list[Candidate]:
    cause = one.cause
    if cause == "traceback" and head is not None and is_report(head.type):
        cause = "runtime_error"  # a launcher's word on a child of which nothing else is known
    cause = _worn(cause, one.excerpt, reading, one.place)
    ground = Ground.CONFIRMATION if one.role is Role.CONFIRMATION else Ground.LINE
    tier = Tier.CASCADE if one.role is Role.CASCADE else _tier(one.cause, ground)
    last, steps, recovered = one, _PROGRESS_STEPS, False
    if one.cause in LASTING:
        again = [other for other in reading.observations if other.cause == one.cause]
        last = again[-1] if again else one
        steps = max(steps, sum(reading.counts[other] for other in {o.pattern.id for o in again}))
        recovered = one.role is Role.ROOT and _recovered(reading, last.place.offset)
    elif one.cause in SCHEDULED:
        steps = _GRACE_STEPS
    return [
        Candidate(
            cause=cause,
            tier=tier,
            ground=ground,
            file=one.file,
            place=one.place,
            rank=one.rank,
            observations=(one,),
            traceback=head,
            head=head,
            went_on=recovered or went_on(reading, last.place.offset, steps),
            near_end=head is not None or is_near_end(reading, last.place),
            last_word=is_last_word(reading, last.place, leaving=_is_leaving(one)),
        )
    ]


def _worn(cause: str, text: str, reading: LogReading, place: LinePosition) -> str:
    """*cause*, unless it is a disk that went read-only under a run that had written to it."""
    if cause != "permission" or "Read-only file system" not in text:
        return cause
    before = reading.tail[: max(0, place.offset - reading.tail_offset)]
    return "filesystem_io" if _WRITTEN.search(before) else cause


def last_resort(readings: Sequence[LogReading], rules: RuleSet) -> Candidate | None:
    """What the last lines of a log say where nothing in it names a cause.

    Also what counts only in exceptions elsewhere is taken here: of many a log only the middle of
    a message is left, or a program wrote it in its own way.
    """
    program = compile_rules(rules)
    best: Candidate | None = None
    order = (math.inf, 0)
    for reading in readings:
        quoted = [
            (member.start.offset, member.end.offset)
            for head in reading.tracebacks
            for member in head.chain()
        ]
        lines = reading.tail.replace(b"\r", b"\n").split(b"\n")
        at = reading.tail_offset + len(reading.tail) + 1
        for index, piece in enumerate(reversed(lines[-_LAST_RESORT_LINES:])):
            at -= len(piece) + 1
            if any(start <= at < end for start, end in quoted):
                continue  # source code says what might be, not what was
            line = strip_prefixes(canonicalize(piece))
            for pattern, match in program.match_exception(line.text):
                if pattern.role is Role.ROOT and (pattern.order, index) < order:
                    behind = reading.tail.count(b"\n", at - reading.tail_offset)
                    ended = reading.tail.endswith(b"\n")
                    place = LinePosition(reading.lines - behind + ended, at)
                    seen = make_observation(pattern, match, line, reading.file, place)
                    found = _of_line(seen, reading)[0]
                    if not (found.went_on and found.cause in LASTING):
                        best = replace(found, ground=Ground.GUESS)
                        order = (pattern.order, index)
    return best


def _ordered(found: Sequence[Observation]) -> list[Observation]:
    """*found* with the most telling first: by line, as the message says it, then by rule."""
    telling = [one for one in found if one.role not in (Role.BENIGN, Role.REPORT)]
    return sorted(telling, key=lambda one: one.pattern.order)


def _cause_of(
    member: Traceback, observations: list[Observation], rules: RuleSet
) -> tuple[str, Ground]:
    """The message goes before the place, and that before the type: types mislead."""
    if observations:
        first = observations[0]
        confirmed = first.role is Role.CONFIRMATION
        return first.cause, Ground.CONFIRMATION if confirmed else Ground.MESSAGE
    name = None if member.context is Context.CUT_OFF else member.name
    cause = compile_rules(rules).find_cause_by_place(name, member.places, member.source)
    if cause is not None:
        return cause, Ground.PLACE
    for name in (member.type, member.name):
        for rule in rules:
            if name in rule.exceptions:
                return rule.id, Ground.TYPE
    other = member.context is Context.NATIVE or is_report(member.type)
    return ("runtime_error" if other else "traceback"), Ground.TYPE


class _Named(NamedTuple):
    """An exception of a chain, what was seen in it, and the cause that follows by itself."""

    member: Traceback
    observations: list[Observation]
    cause: str
    ground: Ground

    @property
    def telling(self) -> bool:
        """True when it says more than that the program failed."""
        return self.cause not in GENERIC

    @property
    def followed(self) -> bool:
        """True when its message says that it followed from another failure."""
        return bool(self.observations) and self.observations[0].role is Role.CASCADE

    @property
    def said(self) -> bool:
        """True when its own message says so."""
        return self.telling and self.ground >= Ground.MESSAGE


def _root_of_chain(named: list[_Named]) -> _Named:
    """Which exception of a chain carries the cause.

    A resource that ran out is the root of whatever was raised on top of it.  Otherwise the chain
    falls into parts that were raised while another was handled (the usual look-up that is tried
    and then done without): the last part goes first, and in a part the first exception, from
    which the others were raised on purpose.  What a message says goes before what only a type or
    a place does.  When none is telling: the first if it was made the direct cause of the rest,
    else the last.
    """
    for one in named:
        if one.said and one.cause in RESOURCES:
            return one
    loading = next((one for one in named if one.said and one.cause == "checkpoint"), None)
    if loading is not None and named[-1].cause in {*MISMATCHES, "checkpoint"}:
        return loading
    parts: list[list[_Named]] = []
    for one in named:
        if not parts or one.member.link is not ChainLink.CAUSE:
            parts.append([])
        parts[-1].append(one)
    for wanted in (attrgetter("said"), attrgetter("telling")):
        for part in reversed(parts):
            for one in part:
                if wanted(one):
                    return one
    return named[0] if named[-1].member.link is ChainLink.CAUSE else named[-1]


def _tier_of(member: Traceback, cause: str, ground: Ground) -> Tier:
    aftermath = ground <= Ground.TYPE and cause in GENERIC and is_aftermath(member.type)
    if aftermath or member.context is Context.CUT_OFF:
        return Tier.CASCADE
    return _tier(cause, ground)


def _tier(cause: str, ground: Ground) -> Tier:
    if ground is Ground.CONFIRMATION:
        return Tier.CONFIRMED
    if cause in COMMUNICATION:
        return Tier.COMMUNICATION
    if cause in GENERIC or cause in SIGNALLED:
        return Tier.GENERIC
    return Tier.SPECIFIC
