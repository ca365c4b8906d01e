"""Lines of one process, parsed by every format; the best one is selected."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TypeVar

from gpualert_common.progress.formats._interface import (
    FormatParser,
    FrameworkName,
    ParsedItem,
    ProgressLine,
    ShapedPoint,
    Tally,
    TrainingLength,
    load_parsers,
)
from gpualert_common.progress.model import Checkpoint, Marker, OutputCount, Point, TrainingEnd
from gpualert_common.progress.track import Track
from gpualert_common.regex import RegexSet, compile_bytes
from gpualert_common.structs import replace

GENERIC = "generic"
_FEW = 3
_CERTAIN = 100
"""Points after which a framework is certain, and the generic format is no longer tried."""
_MOST_SHAPES = 6
_OPPONENT = rb"(?:d|g|disc|gen|discriminator|generator|gan|adv|critic|actor|policy)"
_CONTESTED = compile_bytes(
    rb"(?i)(?:^|[^a-z])(?:" + _OPPONENT + rb"|pg|vf|value|td|q)[_ /.-]loss(?:es)?\b"
    rb"|(?:^|[^a-z])loss(?:es)?[_ /.-]" + _OPPONENT + rb"(?:_|\b)"
    rb"|(?:^|[^a-z/])(?:(?:mean|avg|total|ep|episode|critic)[_ /])?(?:rewards?|returns?|rew)"
    rb"(?:[_ /](?:mean|avg|std|max|min))?['\")]? ?[:=|] ?['\"]?[-+]?[.\d]"
)
"""Text next to a loss that need not fall: a reward, or the loss of an opponent."""
_MOST_EVENTS = 256
"""Limit of checkpoints, markers or endings for a stream; the first and the latest are kept."""


_MOST_OUTPUTS = 16

Event = TypeVar("Event", bound=Checkpoint | Marker | TrainingEnd)


class Interests:
    """Selection of the formats that parse a line."""

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

    def select(self, line: ProgressLine) -> Iterable[int]:
        """Return the indices of the formats that parse *line*, ascending."""
        hints = self._set.search(line.text)
        if hints is None:
            return range(len(self.names))
        found = {self._owners[hint] for hint in hints}
        return sorted(found | self._of_bars if line.bar else found)


class Stream:
    """Result of one stream.  At most :data:`_MOST_SHAPES` shapes of lines compete."""

    def __init__(self, interests: Interests) -> None:
        self._interests = interests
        self._parsers: dict[str, FormatParser] = {}
        self._shapes = 0
        self.tracks: dict[tuple[str, str], Track] = {}
        self.frameworks: dict[str, str | None] = {}
        self.by_reward = False
        self.lengths: dict[str, TrainingLength] = {}
        self.tally = Tally()
        self.checkpoints: tuple[Checkpoint, ...] = ()
        self.markers: tuple[Marker, ...] = ()
        self.endings: tuple[TrainingEnd, ...] = ()
        self.outputs: tuple[OutputCount, ...] = ()
        self.faults: tuple[str, ...] = ()
        self._is_certain = False

    def copy(self) -> Stream:
        """Return an independent copy."""
        other = Stream(self._interests)
        other.__dict__.update(self.__dict__)
        other._parsers = {name: copy.copy(parser) for name, parser in self._parsers.items()}
        other.tracks = {key: track.copy() for key, track in self.tracks.items()}
        other.frameworks = self.frameworks.copy()
        other.lengths = self.lengths.copy()
        return other

    def read(self, line: ProgressLine) -> None:
        """Parse *line* with every format that applies."""
        has_items = False
        for index in self._interests.select(line):
            name = self._interests.names[index]
            if (has_items and load_parsers()[name].is_fallback) or (
                name == GENERIC and self._is_certain
            ):
                continue
            if name not in self._parsers:
                self._parsers[name] = load_parsers()[name]()
            for item in self._parse(name, line):
                has_items = has_items or not isinstance(item, OutputCount)
                self._add(name, item)
                if not self.by_reward and isinstance(item, Point | ShapedPoint):
                    self.by_reward = _CONTESTED.search(line.raw) is not None

    def _parse(self, name: str, line: ProgressLine | None) -> Iterable[ParsedItem]:
        """Return the items of a format for *line*, or for the end.  Never raises."""
        parser = self._parsers[name]
        try:
            return tuple(parser.finish() if line is None else parser.read(line))
        except Exception as error:  # noqa: BLE001 - a failure of one format must not stop the others
            where = "the end" if line is None else f"line {line.place.line}"
            fault = f"the format {name} failed at {where}: {type(error).__name__}"
            self.faults = (*self.faults, fault)[:_FEW]
            return ()

    def finish(self) -> None:
        """End the log."""
        for name in self._parsers:
            for item in self._parse(name, None):
                self._add(name, item)
        for track in self.tracks.values():
            track.finish()

    @property
    def strength(self) -> int:
        """Strength of the best track."""
        return max((track.strength for track in self.tracks.values()), default=0)

    @property
    def has_evaluations(self) -> bool:
        """True when more than one line has an evaluation loss."""
        return any(track.evals.count > 1 for track in self.tracks.values())

    def select_best(self) -> tuple[str, Track] | None:
        """Return the best format and its track; None when no line was recognized.

        A framework has priority over the generic format unless it recognizes far fewer lines.
        """
        own = self._find_strongest(generic=False)
        generic = self._find_strongest(generic=True)
        if own is None or generic is None:
            return own or generic
        if own[1].strength * _FEW * _FEW >= generic[1].strength:
            return own
        return generic

    def _find_strongest(self, *, generic: bool) -> tuple[str, Track] | None:
        found = [
            (name, track)
            for (name, _), track in self.tracks.items()
            if (name == GENERIC) is generic
            and (generic or name in self.frameworks)
            and track.advances + track.ticks.count
        ]
        if generic:
            found = [one for one in found if one[1].is_sure or one[1].strength >= _FEW]
        return max(found, key=lambda one: (one[1].strength, one[1].pace), default=None)

    def _add(self, name: str, item: ParsedItem) -> None:
        match item:
            case Point():
                track = self._open_track(name, "")
                track.add(item)
                self._is_certain = self._is_certain or track.strength >= _CERTAIN
            case ShapedPoint():
                self._add_shaped(name, item)
            case Checkpoint():
                last = self.checkpoints[-1:]
                is_known = last and (last[0].action, last[0].step) == (item.action, item.step)
                if not is_known or item.step is None:
                    self.checkpoints = _append_event(self.checkpoints, item)
            case Marker():
                self.markers = _append_event(self.markers, item)
            case OutputCount():
                if all(item.count != one.count for one in self.outputs[:_MOST_OUTPUTS]):
                    self.outputs = (*self.outputs, item)[:_MOST_OUTPUTS]
            case TrainingEnd():
                self.endings = _append_event(self.endings, item)
            case FrameworkName():
                self.frameworks[name] = item.flavour or self.frameworks.get(name)
                self.by_reward = self.by_reward or item.by_reward
            case Tally():
                self._add_tally(item)
            case TrainingLength():
                known = self.lengths.get(name, TrainingLength())
                self.lengths[name] = TrainingLength(
                    item.total_steps or known.total_steps,
                    item.total_epochs or known.total_epochs,
                )

    def _add_shaped(self, name: str, found: ShapedPoint) -> None:
        key = (name, found.shape)
        if key not in self.tracks:
            if self._shapes >= _MOST_SHAPES:
                return
            self._shapes += 1
            self.tracks[key] = Track(found.unit, is_sure=found.is_sure, by_clock=found.by_clock)
        self.tracks[key].add(found.point)

    def _open_track(self, name: str, shape: str) -> Track:
        key = (name, shape)
        if key not in self.tracks:
            self.tracks[key] = Track(by_epoch=load_parsers()[name].by_epoch)
        return self.tracks[key]

    def _add_tally(self, more: Tally) -> None:
        tally = self.tally
        self.tally = replace(
            tally,
            skipped=tally.skipped + more.skipped,
            skipped_total=max(tally.skipped_total, more.skipped_total),
            overflows=tally.overflows + more.overflows,
            nan_iterations=tally.nan_iterations + more.nan_iterations,
        )


def _append_event(events: tuple[Event, ...], event: Event) -> tuple[Event, ...]:
    """Return *events* with *event*, without the middle of too many; a line counts once."""
    if events and events[-1].offset == event.offset:
        return events
    if len(events) >= _MOST_EVENTS:
        middle = _MOST_EVENTS // 2
        events = (*events[:middle], *events[middle + 1 :])
    return (*events, event)
