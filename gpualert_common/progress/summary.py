"""Progress of one log from its streams."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
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
from gpualert_common.progress.step_estimates import add_estimated_steps
from gpualert_common.progress.stream import GENERIC, Stream
from gpualert_common.progress.track import Track, complete_point
from gpualert_common.structs import replace

NOTHING_READ = "no line with training steps was recognized"
NOTHING_TOLD = "the framework was recognized, but it printed neither steps nor losses"
NO_LOSS = "the log has steps, but no loss"
NO_LABEL = "there is only a bar without a label: its unit is unknown, and it has no loss"
EVALUATIONS_ONLY = "the log has evaluation losses, but no training loss"
NO_POSITION = "the log has losses, but no steps and no epochs"
PROGRAMS_OWN = "the losses are from the program's own lines, since the framework prints none"

_NEARLY = 0.75

Event = TypeVar("Event", bound=Checkpoint | Marker | TrainingEnd)


def summarize_log(file: str, streams: Sequence[Stream], size: int, unread: int) -> Progress:
    """Return the progress of the best of *streams*; other streams with progress are counted."""
    active = [stream for stream in streams if stream.select_best() is not None]
    main = _select_main(active)
    if main is None:
        main = next(
            (stream for stream in streams if stream.frameworks or stream.has_evaluations), None
        )
    by_rank = sorted(streams, key=lambda stream: stream is not main)
    progress = Progress(
        files=(file,),
        unverifiable=(NOTHING_READ,),
        checkpoints=_take_first(stream.checkpoints for stream in by_rank),
        markers=_take_first(stream.markers for stream in by_rank),
        endings=_take_first(stream.endings for stream in by_rank),
        outputs=next((stream.outputs for stream in by_rank if stream.outputs), ()),
        notes=tuple(fault for stream in streams for fault in stream.faults),
        read_bytes=size - unread,
        unread_bytes=unread,
    )
    if main is None:
        return progress
    progress = _summarize_stream(progress, main)
    return replace(progress, counts=replace(progress.counts, streams=len(active)))


def _select_main(streams: Sequence[Stream]) -> Stream | None:
    """Return the stream with the earliest step among those that are about as strong.

    Ranks write into each other's lines, so the first line of one of them can be lost.
    """
    most = max((stream.strength for stream in streams), default=0)
    near = [stream for stream in streams if stream.strength >= _NEARLY * most]
    return min(near, key=_start_key, default=None)


def _start_key(stream: Stream) -> tuple[float, int]:
    best = stream.select_best()
    segments = best[1].segments if best is not None else ()
    first = segments[0].first_step if segments else None
    return math.inf if first is None else first, -stream.strength


def _summarize_stream(progress: Progress, stream: Stream) -> Progress:
    best = stream.select_best()
    reader = best[0] if best is not None else None
    framework, flavour = _name_framework(reader, stream.frameworks)
    evals, eval_count = _collect_evals(stream, reader)
    progress = replace(
        progress,
        framework=framework,
        flavour=flavour,
        by_reward=stream.by_reward,
        evals=evals,
        counts=replace(_count_tally(stream), evals=eval_count),
    )
    if best is None:
        return replace(progress, unverifiable=(EVALUATIONS_ONLY if evals else NOTHING_TOLD,))
    track, notes = best[1], progress.notes
    points, segments = track.points.points(), track.segments
    if not points:
        points, segments = track.ticks.points(), _segment_ticks(track)
    elif reader == GENERIC and framework != GENERIC:
        points = _complete_points(points, stream, framework)
        notes = (*notes, PROGRAMS_OWN)
    progress = replace(
        progress,
        unit=track.unit,
        unverifiable=find_unknowns(points, track.unit),
        notes=notes,
        points=points,
        segments=segments,
        jump=track.jump,
    )
    ticks = track.ticks.points()
    progress = add_estimated_steps(progress, ticks[-1] if ticks else None)
    counts = _count_points(progress, track, _merge_lengths(stream))
    if counts.last_step is None:
        counts = _add_steps_of_others(counts, stream, reader)
    return replace(progress, counts=counts)


def _name_framework(reader: str | None, named: dict[str, str | None]) -> tuple[str, str | None]:
    """Return the name and the flavour of the framework."""
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


def _collect_evals(stream: Stream, reader: str | None) -> tuple[tuple[Point, ...], int]:
    """Return the evaluation points of *reader* for all shapes of lines, and their number."""
    tracks = [track for (name, _), track in stream.tracks.items() if reader in (name, None)]
    points = (point for track in tracks for point in track.evals.points())
    in_place = tuple(sorted(points, key=attrgetter("offset")))
    return in_place, sum(track.evals.count for track in tracks)


def _segment_ticks(track: Track) -> tuple[Segment, ...]:
    """Return the only segment of steps without losses.

    A bar is first drawn at 0 even in a resumed training; its first move says more
    (:class:`~.model.StepJump`).
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


def _complete_points(
    points: tuple[Point, ...], stream: Stream, framework: str | None
) -> tuple[Point, ...]:
    """Return *points* completed from the framework's own lines about the same steps."""
    known = {
        point.step: point
        for (name, _), track in stream.tracks.items()
        if name == framework
        for point in track.ticks.points()
    }
    return tuple(
        complete_point(point, known[point.step]) if point.step in known else point
        for point in points
    )


def find_unknowns(points: Sequence[Point], unit: str) -> tuple[str, ...]:
    """Return reasons why *points* are not enough for a conclusion."""
    if not points:
        return (NOTHING_TOLD,)
    if all(point.loss is None and point.is_finite for point in points):
        return (NO_LABEL if unit == "item" else NO_LOSS,)
    return (NO_POSITION,) if all(point.position is None for point in points) else ()


def _merge_lengths(stream: Stream) -> TrainingLength:
    spans = stream.lengths.values()
    return TrainingLength(
        next((one.total_steps for one in spans if one.total_steps), None),
        next((one.total_epochs for one in spans if one.total_epochs), None),
    )


def _count_tally(stream: Stream) -> Counts:
    tally = stream.tally
    return Counts(
        skipped_steps=max(tally.skipped, tally.skipped_total),
        overflows=tally.overflows,
        nan_iterations=tally.nan_iterations,
    )


def _count_points(progress: Progress, track: Track, span: TrainingLength) -> Counts:
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


def _add_steps_of_others(counts: Counts, stream: Stream, reader: str | None) -> Counts:
    """Return *counts* with the steps of lines without a loss, where the losses are by epoch only.

    A counter that starts over counts the steps of one epoch, so it is left out.
    """
    others = [track for (name, _), track in stream.tracks.items() if name == reader]
    counters = [one for one in others if one.unit == "step" and one.pace == one.ticks.count > 1]
    best = max(counters, key=lambda one: one.ticks.count, default=None)
    if best is None or counts.points > best.ticks.count:
        return counts
    steps = [one.step for one in best.ticks.points() if one.step is not None]
    total = counts.total_steps or best.total_steps
    return replace(counts, first_step=steps[0], last_step=max(steps), total_steps=total)


def _take_first(by_rank: Iterable[tuple[Event, ...]]) -> tuple[Event, ...]:
    """Return the events of the first rank that has any; the other ranks report the same events."""
    return next((events for events in by_rank if events), ())
