"""The lines of one process: shown to every format, and which of them read it best."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from gpualert_common.progress.formats._interface import (
    Finding,
    FrameworkName,
    Parser,
    ProgressLine,
    ShapedPoint,
    Tally,
    TrainingLength,
    load_parsers,
)
from gpualert_common.progress.model import Checkpoint, Marker, Point, TrainingEnd
from gpualert_common.progress.track import Track
from gpualert_common.regex import RegexSet, compile_bytes

GENERIC = "generic"
_FEW = 3
_SETTLED = 100
"""Points after which a framework is recognised for good; its lines are no longer guessed at."""
_MOST_SHAPES = 6
_OPPONENT = rb"(?:d|g|disc|gen|discriminator|generator|gan|adv|critic|actor|policy)"
_CONTESTED = compile_bytes(
    rb"(?i)(?:^|[^a-z])(?:" + _OPPONENT + rb"|pg|vf|value|td|q)[_ /.-]loss(?:es)?\b"
    rb"|(?:^|[^a-z])loss(?:es)?[_ /.-]" + _OPPONENT + rb"(?:_|\b)"
    rb"|(?:^|[^a-z/])(?:(?:mean|avg|total|ep|episode|critic)[_ /])?(?:rewards?|returns?|rew)"
    rb"(?:[_ /](?:mean|avg|std|max|min))?['\")]? ?[:=|] ?['\"]?[-+]?[.\d]"
)
"""What a line tells beside a loss that need not fall: a reward, or that of an opponent."""
_MOST_EVENTS = 256
"""Checkpoints, markers or endings that are kept of a stream: the first and the latest half."""


Event = TypeVar("Event", bound=Checkpoint | Marker | TrainingEnd)


class Interests:
    """Which formats want to see a line."""

    def __init__(self) -> None:
        self.names = tuple(load_parsers())
        self._of_bars = {i for i, name in enumerate(self.names) if load_parsers()[name].hints.bars}
        hints = [
            (hint, index)
            for index, name in enumerate(self.names)
            for hint in (load_parsers()[name].hints.steps, load_parsers()[name].hints.rare)
            if hint
        ]
        self._set = RegexSet(hint for hint, _ in hints)
        self._owners = [index for _, index in hints]

    def of(self, line: ProgressLine) -> Iterable[int]:
        """Indices of the formats that want to see *line*, ascending."""
        hints = self._set.search(line.text)
        if hints is None:
            return range(len(self.names))
        found = {self._owners[hint] for hint in hints}
        return sorted(found | self._of_bars if line.bar else found)


class Stream:
    """What was read of one stream.  At most :data:`_MOST_SHAPES` shapes of line compete."""

    def __init__(self, interests: Interests) -> None:
        self._interests = interests
        self._parsers: dict[str, Parser] = {}
        self._shapes = 0
        self.tracks: dict[tuple[str, str], Track] = {}
        self.named: dict[str, str | None] = {}
        self.by_reward = False
        self.spans: dict[str, TrainingLength] = {}
        self.tally = Tally()
        self.checkpoints: tuple[Checkpoint, ...] = ()
        self.markers: tuple[Marker, ...] = ()
        self.endings: tuple[TrainingEnd, ...] = ()
        self.faults: tuple[str, ...] = ()
        self._is_settled = False

    def copy(self) -> Stream:
        """One that goes on apart from this."""
        other = Stream(self._interests)
        other.__dict__.update(self.__dict__)
        other._parsers = {name: copy.copy(parser) for name, parser in self._parsers.items()}
        other.tracks = {key: track.copy() for key, track in self.tracks.items()}
        other.named = self.named.copy()
        other.spans = self.spans.copy()
        return other

    def read(self, line: ProgressLine) -> None:
        """Show *line* to those who want to see it."""
        told = False
        for index in self._interests.of(line):
            name = self._interests.names[index]
            if (told and load_parsers()[name].accompanies) or (
                name == GENERIC and self._is_settled
            ):
                continue
            if name not in self._parsers:
                self._parsers[name] = load_parsers()[name]()
            for finding in self._findings(name, line):
                told = True
                self._take(name, finding)
                if not self.by_reward and isinstance(finding, Point | ShapedPoint):
                    self.by_reward = _CONTESTED.search(line.raw) is not None

    def _findings(self, name: str, line: ProgressLine | None) -> Iterable[Finding]:
        """What a format says of *line*, or of the end; a fault of one costs the others nothing."""
        parser = self._parsers[name]
        try:
            return tuple(parser.finish() if line is None else parser.read(line))
        except Exception as error:  # noqa: BLE001 - whatever a log holds, the others read on
            where = "the end" if line is None else f"line {line.place.line}"
            fault = f"the format {name} failed at {where}: {type(error).__name__}"
            self.faults = (*self.faults, fault)[:_FEW]
            return ()

    def finish(self) -> None:
        """The log has ended."""
        for name in self._parsers:
            for finding in self._findings(name, None):
                self._take(name, finding)
        for track in self.tracks.values():
            track.finish()

    @property
    def strength(self) -> int:
        """Of the best way to read it."""
        return max((track.strength for track in self.tracks.values()), default=0)

    @property
    def evaluated(self) -> bool:
        """True when losses of evaluations were told, in more than one line."""
        return any(track.evals.count > 1 for track in self.tracks.values())

    def best(self) -> tuple[str, Track] | None:
        """The format that reads this stream best, and its track; None when nothing was read.

        The generic one gives way to a framework that tells of losses at all, unless that reads
        next to nothing.
        """
        own = self._strongest(generic=False)
        generic = self._strongest(generic=True)
        if own is None or generic is None:
            return own or generic
        if own[1].strength * _FEW * _FEW >= generic[1].strength:
            return own
        return generic

    def _strongest(self, *, generic: bool) -> tuple[str, Track] | None:
        found = [
            (name, track)
            for (name, _), track in self.tracks.items()
            if (name == GENERIC) is generic
            and (generic or name in self.named)
            and track.advances + track.ticks.count
        ]
        if generic:
            found = [one for one in found if one[1].sure or one[1].strength >= _FEW]
        return max(found, key=lambda one: (one[1].strength, one[1].pace), default=None)

    def _take(self, name: str, finding: Finding) -> None:
        match finding:
            case Point():
                track = self._track(name, "")
                track.add(finding)
                self._is_settled = self._is_settled or track.strength >= _SETTLED
            case ShapedPoint():
                self._take_shaped(name, finding)
            case Checkpoint():
                last = self.checkpoints[-1:]
                told = last and (last[0].action, last[0].step) == (finding.action, finding.step)
                if not told or finding.step is None:
                    self.checkpoints = _added(self.checkpoints, finding)
            case Marker():
                self.markers = _added(self.markers, finding)
            case TrainingEnd():
                self.endings = _added(self.endings, finding)
            case FrameworkName():
                self.named[name] = finding.flavour or self.named.get(name)
                self.by_reward = self.by_reward or finding.by_reward
            case Tally():
                self._count(finding)
            case TrainingLength():
                known = self.spans.get(name, TrainingLength())
                self.spans[name] = TrainingLength(
                    finding.total_steps or known.total_steps,
                    finding.total_epochs or known.total_epochs,
                )

    def _take_shaped(self, name: str, found: ShapedPoint) -> None:
        key = (name, found.shape)
        if key not in self.tracks:
            if self._shapes >= _MOST_SHAPES:
                return
            self._shapes += 1
            self.tracks[key] = Track(found.unit, sure=found.sure, by_clock=found.by_clock)
        self.tracks[key].add(found.point)

    def _track(self, name: str, shape: str) -> Track:
        key = (name, shape)
        if key not in self.tracks:
            self.tracks[key] = Track(by_epoch=load_parsers()[name].by_epoch)
        return self.tracks[key]

    def _count(self, more: Tally) -> None:
        tally = self.tally
        self.tally = replace(
            tally,
            skipped=tally.skipped + more.skipped,
            skipped_total=max(tally.skipped_total, more.skipped_total),
            overflows=tally.overflows + more.overflows,
            nan_iterations=tally.nan_iterations + more.nan_iterations,
        )


def _added(events: tuple[Event, ...], event: Event) -> tuple[Event, ...]:
    """*events* and *event*, without what lies in the middle of too many; a line tells once."""
    if events and events[-1].offset == event.offset:
        return events
    if len(events) >= _MOST_EVENTS:
        middle = _MOST_EVENTS // 2
        events = (*events[:middle], *events[middle + 1 :])
    return (*events, event)
