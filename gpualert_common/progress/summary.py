"""From what was read of a log's streams to one progress."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TypeVar

from gpualert_common.progress.formats._interface import TrainingLength, load_parsers
from gpualert_common.progress.model import (
    Checkpoint,
    Counts,
    Marker,
    Point,
    Progress,
    Segment,
    TrainingEnd,
)
from gpualert_common.progress.step_estimates import paced
from gpualert_common.progress.stream import GENERIC, Stream
from gpualert_common.progress.track import Track, completed

NOTHING_READ = "no line that tells of a training's steps was recognised"
NOTHING_TOLD = "the framework was recognised, but it printed neither steps nor losses"
NO_LOSS = "steps are told, but no loss"
NO_LABEL = "there is a bar without a label: what it counts is not told, nor any loss"
EVALUATIONS_ONLY = "losses of evaluations are told, but none of the training"
NO_POSITION = "losses are told, but no steps and no epochs"
PROGRAMS_OWN = "the losses are from the program's own lines, since the framework tells none"

_NEARLY = 0.75

Event = TypeVar("Event", bound=Checkpoint | Marker | TrainingEnd)


def conclude(file: str, streams: Sequence[Stream], size: int, unread: int) -> Progress:
    """The progress that the best of *streams* tells; others that tell one are counted."""
    told = [stream for stream in streams if stream.best() is not None]
    main = _leading(told)
    if main is None:
        main = next((stream for stream in streams if stream.named or stream.evaluated), None)
    by_rank = sorted(streams, key=lambda stream: stream is not main)
    progress = Progress(
        files=(file,),
        unverifiable=(NOTHING_READ,),
        checkpoints=_once(stream.checkpoints for stream in by_rank),
        markers=_once(stream.markers for stream in by_rank),
        endings=_once(stream.endings for stream in by_rank),
        notes=tuple(fault for stream in streams for fault in stream.faults),
        read_bytes=size - unread,
        unread_bytes=unread,
    )
    if main is None:
        return progress
    progress = _of_stream(progress, main)
    return replace(progress, counts=replace(progress.counts, streams=len(told)))


def _leading(streams: Sequence[Stream]) -> Stream | None:
    """Of those that tell about as much the one that tells its beginning: ranks write into each
    other's lines, and one may have lost its first.
    """
    most = max((stream.strength for stream in streams), default=0)
    near = [stream for stream in streams if stream.strength >= _NEARLY * most]
    return min(near, key=_beginning, default=None)


def _beginning(stream: Stream) -> tuple[float, int]:
    best = stream.best()
    segments = best[1].segments if best is not None else ()
    first = segments[0].first_step if segments else None
    return math.inf if first is None else first, -stream.strength


def _of_stream(progress: Progress, stream: Stream) -> Progress:
    best = stream.best()
    reader = best[0] if best is not None else None
    framework, flavour = _framework(reader, stream.named)
    evals, evaluated = _evals(stream, reader)
    progress = replace(
        progress,
        framework=framework,
        flavour=flavour,
        by_reward=stream.by_reward,
        evals=evals,
        counts=replace(_tallied(stream), evals=evaluated),
    )
    if best is None:
        return replace(progress, unverifiable=(EVALUATIONS_ONLY if evals else NOTHING_TOLD,))
    track, notes = best[1], progress.notes
    points, segments = track.points.points(), track.segments
    if not points:
        points, segments = track.ticks.points(), _of_ticks(track)
    elif reader == GENERIC and framework != GENERIC:
        points = _joined(points, stream, framework)
        notes = (*notes, PROGRAMS_OWN)
    progress = replace(
        progress,
        unit=track.unit,
        unverifiable=unverifiable(points, track.unit),
        notes=notes,
        points=points,
        segments=segments,
        jump=track.jump,
    )
    ticks = track.ticks.points()
    progress = paced(progress, ticks[-1] if ticks else None)
    return replace(progress, counts=_counts(progress, track, _span(stream)))


def _framework(reader: str | None, named: dict[str, str | None]) -> tuple[str, str | None]:
    """Name and flavour of what printed the lines."""
    own = [name for name in named if not load_parsers()[name].built_on]
    name = reader
    if name is None or (name == GENERIC and own):
        name = own[0] if own else next(iter(named), GENERIC)
    if name == GENERIC:
        return name, None
    base = load_parsers()[name].built_on
    if base is not None:
        return base, name
    on_top = (other for other in named if load_parsers()[other].built_on == name)
    return name, next(on_top, named.get(name))


def _evals(stream: Stream, reader: str | None) -> tuple[tuple[Point, ...], int]:
    """What was measured in evaluations, by *reader*, whatever the shape of its lines, and how
    often.
    """
    tracks = [track for (name, _), track in stream.tracks.items() if reader in (name, None)]
    points = (point for track in tracks for point in track.evals.points())
    in_place = tuple(sorted(points, key=attrgetter("offset")))
    return in_place, sum(track.evals.count for track in tracks)


def _of_ticks(track: Track) -> tuple[Segment, ...]:
    """The one segment of steps without losses.

    A bar is drawn at 0 first, wherever the training begins; then its first move tells more than
    its places (:class:`~.model.Jump`).
    """
    points = [one for one in track.ticks.points() if one.step is not None]
    moved = [one for one in points if one.step] or points
    first, last = moved[0], moved[-1]
    second = moved[1] if first is points[0] and len(moved) > 1 else None
    return (
        Segment(
            file=first.file,
            line=first.line,
            offset=first.offset,
            points=track.ticks.count,
            first_step=first.step,
            second_step=second.step if second is not None else None,
            last_step=last.step,
            first_epoch=first.epoch,
            second_epoch=second.epoch if second is not None else None,
            last_epoch=last.epoch,
        ),
    )


def _joined(points: tuple[Point, ...], stream: Stream, framework: str | None) -> tuple[Point, ...]:
    """*points* with what the framework's own lines tell of the same steps."""
    told = {
        point.step: point
        for (name, _), track in stream.tracks.items()
        if name == framework
        for point in track.ticks.points()
    }
    return tuple(
        completed(point, told[point.step]) if point.step in told else point for point in points
    )


def unverifiable(points: Sequence[Point], unit: str) -> tuple[str, ...]:
    """What *points* leave unknown."""
    if not points:
        return (NOTHING_TOLD,)
    if all(point.loss is None and point.finite for point in points):
        return (NO_LABEL if unit == "item" else NO_LOSS,)
    return (NO_POSITION,) if all(point.position is None for point in points) else ()


def _span(stream: Stream) -> TrainingLength:
    spans = stream.spans.values()
    return TrainingLength(
        next((one.total_steps for one in spans if one.total_steps), None),
        next((one.total_epochs for one in spans if one.total_epochs), None),
    )


def _tallied(stream: Stream) -> Counts:
    tally = stream.tally
    return Counts(
        skipped_steps=max(tally.skipped, tally.skipped_total),
        overflows=tally.overflows,
        nan_iterations=tally.nan_iterations,
    )


def _counts(progress: Progress, track: Track, span: TrainingLength) -> Counts:
    steps = [one for part in progress.segments for one in (part.first_step, part.last_step)]
    ticks = track.ticks.points()
    steps += [ticks[-1].step] if ticks else []
    known = [step for step in steps if step is not None]
    epochs = [point.epoch for point in progress.points if point.epoch is not None]
    totals = (point.total_steps for point in reversed(progress.points) if point.total_steps)
    return replace(
        progress.counts,
        points=track.points.count or track.ticks.count,
        first_step=progress.segments[0].first_step if progress.segments else None,
        last_step=max(known, default=None),
        total_steps=span.total_steps or next(totals, track.total_steps),
        last_epoch=max(epochs, default=None),
        total_epochs=span.total_epochs,
        non_finite=track.points.non_finite,
    )


def _once(by_rank: Iterable[tuple[Event, ...]]) -> tuple[Event, ...]:
    """The events that the first rank tells of that tells of any: the others tell the same."""
    return next((events for events in by_rank if events), ())
