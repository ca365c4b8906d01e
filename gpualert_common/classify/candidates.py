"""From what was seen in a log to what could have ended the run: candidates for the root cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from gpualert_common.classify.causes import COMMUNICATION, GENERIC, LASTING, SIGNALLED
from gpualert_common.classify.lines import Place
from gpualert_common.classify.rules import RuleSet
from gpualert_common.classify.scan import PROGRESS, Observation, Reading
from gpualert_common.classify.tracebacks import Context, Link, Traceback
from gpualert_common.model import Role

_MESSAGE_LINES = 6
"""Lines behind the exception's own that may still belong to its message."""

_LAST_WORD_LINES = 3
"""Lines that may stand behind the end of a run: a redrawn bar, a line flushed late."""

_NEAR_END_LINES = 300
"""How far from the end a line without a traceback is still taken for what ended the run."""

_NEARBY_LINES = 40
"""How far from an exception that ended a process such a line may have to do with it."""

_PROGRESS_STEPS = 3
"""Different step numbers after a failure that show that training went on."""


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

    LINE = 0
    TYPE = 1
    MESSAGE = 2
    CONFIRMATION = 3


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
    place: Place
    rank: int | None
    observations: tuple[Observation, ...]
    traceback: Traceback | None
    head: Traceback | None
    went_on: bool
    near_end: bool
    last_word: bool


def candidates(reading: Reading, rules: RuleSet) -> list[Candidate]:
    """Everything in *reading* that could have ended the run, in the order of the file.

    Exceptions that the interpreter ignored and launchers' reports of a failed child are none.
    """
    attached = _attach(reading)
    taken = {id(one) for found in attached.values() for one in found}
    result = []
    for head in reading.tracebacks:
        if head.context is not Context.IGNORED:
            result += _of_traceback(head, attached, reading, rules)
    for one in reading.observations:
        if id(one) not in taken and one.role in (Role.ROOT, Role.CONFIRMATION, Role.CASCADE):
            result += _of_line(one, reading)
    return sorted(result, key=lambda entry: entry.place.offset)


def went_on(reading: Reading, offset: int) -> bool:
    """True when training made progress behind *offset*, as far as the log's end shows."""
    after = reading.tail[max(0, offset - reading.tail_offset) :]
    steps = {match.groups() for match in PROGRESS.finditer(after)}
    return len(steps) >= _PROGRESS_STEPS


def is_last_word(reading: Reading, place: Place) -> bool:
    """True when next to nothing stands behind *place*."""
    after = reading.tail[max(0, place.offset - reading.tail_offset) :]
    lines = [line for line in after.replace(b"\r", b"\n").split(b"\n") if line.strip()]
    return place.offset >= reading.tail_offset and len(lines) - 1 <= _LAST_WORD_LINES


def is_near_end(reading: Reading, place: Place) -> bool:
    """True when *place* is within the last few hundred lines."""
    return reading.lines - place.line <= _NEAR_END_LINES


def surviving(found: Sequence[Candidate]) -> list[Candidate]:
    """*found* without exceptions that their process outlived.

    An uncaught exception is the last of its process.  So of the tracebacks of one stream only the
    last counts (and the last that is not about communication: the other ranks may write to the
    same stream); those of threads and worker processes stand for themselves.
    """
    last: dict[tuple[str, str, bool], Candidate] = {}
    for one in found:
        if one.head is not None and one.head.context is Context.MAIN:
            last[_process(one)] = one
    return [
        one
        for one in found
        if not one.went_on
        and (
            one.head is None
            or one.head.context is not Context.MAIN
            or last[_process(one)].head is one.head
        )
    ]


def near_failure(found: Sequence[Candidate]) -> list[Candidate]:
    """*found* without lines that stand too far from what ended the run to explain it.

    That is the exceptions among *found*; without any, the end of the log.
    """
    raised = [one for one in found if one.traceback is not None]

    def near(one: Candidate) -> bool:
        if one.traceback is not None or one.cause in LASTING or one.tier is Tier.CONFIRMED:
            return one.near_end
        return (one.near_end and not raised) or any(
            one.file == other.file and one.place.line - other.place.line >= -_NEARBY_LINES
            for other in raised
        )

    return [one for one in found if near(one)]


def _process(one: Candidate) -> tuple[str, str, bool]:
    stream = one.head.stream if one.head is not None else ""
    return one.file, stream, one.tier in (Tier.COMMUNICATION, Tier.CASCADE)


def _attach(reading: Reading) -> dict[int, list[Observation]]:
    """The observations that belong to each exception of each chain, by the exception's id."""
    members = [member for head in reading.tracebacks for member in head.chain()]
    attached: dict[int, list[Observation]] = {id(member): [] for member in members}
    for one in reading.observations:
        owner: Traceback | None = None
        for member in members:
            if (
                member.stream == one.stream
                and member.start.offset <= one.place.offset
                and one.place.line <= member.end.line + _MESSAGE_LINES
                and (owner is None or member.start.offset > owner.start.offset)
            ):
                owner = member
        if owner is not None:
            attached[id(owner)].append(one)
    return attached


def _of_traceback(
    head: Traceback, attached: dict[int, list[Observation]], reading: Reading, rules: RuleSet
) -> list[Candidate]:
    named = []
    for member in head.chain():
        observations = _ordered(attached[id(member)], rules)
        cause, ground = _cause_of(member, observations, rules)
        named.append((member, observations, cause, ground))
    if named[-1][1] and named[-1][1][0].role is Role.CASCADE:
        first = named[-1][1][0]
        return _of_line(first, reading, head) if first.cause in COMMUNICATION else []
    member, observations, cause, ground = _root_of_chain(named)
    return [
        Candidate(
            cause=cause,
            tier=_tier(cause, ground),
            ground=ground,
            file=head.file,
            place=member.end,
            rank=member.rank,
            observations=tuple(one for one in observations if one.cause == cause),
            traceback=member,
            head=head,
            went_on=went_on(reading, head.end.offset),
            near_end=True,
            last_word=is_last_word(reading, head.end),
        )
    ]


def _of_line(one: Observation, reading: Reading, head: Traceback | None = None) -> list[Candidate]:
    if one.role is Role.CASCADE and one.cause not in COMMUNICATION:
        return []
    ground = Ground.CONFIRMATION if one.role is Role.CONFIRMATION else Ground.LINE
    tier = Tier.CASCADE if one.role is Role.CASCADE else _tier(one.cause, ground)
    last = one
    if one.cause in LASTING:
        last = [other for other in reading.observations if other.cause == one.cause][-1]
    return [
        Candidate(
            cause=one.cause,
            tier=tier,
            ground=ground,
            file=one.file,
            place=one.place,
            rank=one.rank,
            observations=(one,),
            traceback=head,
            head=head,
            went_on=went_on(reading, last.place.offset),
            near_end=head is not None or is_near_end(reading, last.place),
            last_word=is_last_word(reading, last.place),
        )
    ]


def _ordered(found: list[Observation], rules: RuleSet) -> list[Observation]:
    """*found* with the most telling first: by line, as the message says it, then by rule."""
    order = {rule.id: rule.order for rule in rules}
    telling = [one for one in found if one.role is not Role.BENIGN]
    return sorted(telling, key=lambda one: order[one.cause])


def _cause_of(
    member: Traceback, observations: list[Observation], rules: RuleSet
) -> tuple[str, Ground]:
    """The message goes before the type: types mislead."""
    if observations:
        first = observations[0]
        confirmed = first.role is Role.CONFIRMATION
        return first.cause, Ground.CONFIRMATION if confirmed else Ground.MESSAGE
    for name in (member.type, member.name):
        for rule in rules:
            if name in rule.exceptions:
                return rule.id, Ground.TYPE
    return "traceback", Ground.TYPE


_Named = tuple[Traceback, list[Observation], str, Ground]


def _root_of_chain(named: list[_Named]) -> _Named:
    """Which exception of a chain carries the cause.

    The last when it says something specific; else the first that does.  When none does: the first
    if it was made the direct cause of the rest, the last if it only was being handled (the usual
    look-up that is tried and then done without).
    """
    last = named[-1]
    if last[2] not in GENERIC:
        return last
    for one in named:
        if one[2] not in GENERIC:
            return one
    return named[0] if last[0].link is Link.CAUSE else last


def _tier(cause: str, ground: Ground) -> Tier:
    if ground is Ground.CONFIRMATION:
        return Tier.CONFIRMED
    if cause in COMMUNICATION:
        return Tier.COMMUNICATION
    if cause in GENERIC or cause in SIGNALLED:
        return Tier.GENERIC
    return Tier.SPECIFIC
