"""Track: the points of one stream by one format, in segments and without duplicates."""

from __future__ import annotations

import copy

from gpualert_common.progress.model import Phase, Point, Segment, StepJump
from gpualert_common.progress.thinning import PointSeries
from gpualert_common.structs import Struct, replace

MOST_SEGMENTS = 64
_MOVES_AFTER_JUMP = 5
_FIELDS = Point.__struct_fields__


def complete_point(point: Point, by: Point) -> Point:
    """Return *point* with its missing values from another line about the same step."""
    missing = {
        name: value
        for name in _FIELDS
        if getattr(point, name) is None and (value := getattr(by, name)) is not None
    }
    return replace(point, **missing) if missing else point


class _OpenSegment(Struct):
    """A segment that still grows.

    ``latest`` and ``former`` are the last two positions.  ``held`` is the point at the latest one,
    which a second line about the same step can complete.
    """

    first: Point
    held: Point
    latest: float | None
    former: float | None = None
    second: Point | None = None
    points: int = 1


class Track:
    """The points of one stream from one parser, or from one shape of line.

    A step that repeats at once is the same step from another rank or another line.  An epoch that
    is drawn again behind a carriage return has its last values; a bar may already show those of
    the next step.  A step further back begins a new segment: a restart, or the next trial.
    """

    def __init__(
        self,
        unit: str = "step",
        *,
        is_sure: bool = True,
        by_epoch: bool = False,
        by_clock: bool = False,
    ) -> None:
        """Create an empty track.

        *by_epoch*: the position is the epoch; steps are rare.  *by_clock*: the time decides when
        a line is printed.
        """
        self.unit = unit
        self.is_sure = is_sure
        self._by_epoch = by_epoch
        self._by_clock = by_clock
        self.points = PointSeries()
        self.ticks = PointSeries()
        self.evals = PointSeries()
        self.total_steps: int | None = None
        self.jump: StepJump | None = None
        self.advances = 0
        self.restarts = 0
        self._course: _OpenSegment | None = None
        self._ended: tuple[Segment, ...] = ()
        self._tick: int | None = None
        self._moves = 0
        self._returns = 0

    def copy(self) -> Track:
        """Return an independent copy."""
        other = Track()
        other.__dict__.update(self.__dict__)
        other.points, other.ticks, other.evals = (
            series.copy() for series in (self.points, self.ticks, self.evals)
        )
        other._course = copy.copy(self._course)
        return other

    def add(self, point: Point) -> None:
        """Add the next point: of training with or without a loss, or of evaluation."""
        self.total_steps = point.total_steps or self.total_steps
        if point.phase is Phase.EVAL:
            self.evals.add(self._assign_segment(point))
        elif point.loss is None and point.is_finite:
            self._add_tick(point)
        else:
            self._add_point(point)

    def finish(self) -> None:
        """Add the last point, which no later line can complete."""
        if self._course is not None:
            self.points.add(self._assign_segment(self._course.held))

    @property
    def strength(self) -> int:
        """Score of this track: ascending steps count for it, restarts against it."""
        return self.advances - 3 * self.restarts if self.points.count or self._course else 0

    @property
    def pace(self) -> int:
        """The same for steps without losses: the bar of a training rarely restarts."""
        return self.ticks.count - 3 * self._returns

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments; of more than :data:`MOST_SEGMENTS` the first and the latest."""
        return self._ended if self._course is None else (*self._ended, _close_segment(self._course))

    def _add_point(self, point: Point) -> None:
        position = point.epoch if self._by_epoch else point.position
        course = self._course
        if course is None:
            self._course = _OpenSegment(first=point, held=point, latest=position)
            self.advances += 1
            return
        if (
            position is None
            or course.latest is None
            or position > course.latest
            or (position == course.latest and self._by_epoch)
        ):
            self._advance(course, point, position)
        elif position == course.latest:
            held = course.held
            is_same_line = (point.file, point.line) == (held.file, held.line)
            is_redrawn = is_same_line and point.step is None
            course.held = complete_point(point, held) if is_redrawn else complete_point(held, point)
        elif position != course.former:
            self.points.add(self._assign_segment(course.held))
            self._end_segment(course)
            self._course = _OpenSegment(first=point, held=point, latest=position)

    def _advance(self, course: _OpenSegment, point: Point, position: float | None) -> None:
        self.points.add(self._assign_segment(course.held))
        if course.second is None and position != course.latest and not self._by_clock:
            course.second = point
        course.former = course.latest
        course.latest = position if position is not None else course.latest
        course.held = point
        course.points += 1
        self.advances += 1

    def _assign_segment(self, point: Point) -> Point:
        return replace(point, segment=self.restarts) if self.restarts else point

    def _end_segment(self, course: _OpenSegment) -> None:
        kept = (*self._ended, _close_segment(course))
        if len(kept) >= MOST_SEGMENTS:
            middle = MOST_SEGMENTS // 2
            kept = (*kept[:middle], *kept[middle + 1 :])
        self._ended = kept
        self.restarts += 1

    def _add_tick(self, point: Point) -> None:
        step = point.step
        if step is None or step == self._tick:
            return
        before, self._tick = self._tick, step
        self._returns += before is not None and step < before
        self.ticks.add(self._assign_segment(point))
        if before is None and step:
            self._moves = _MOVES_AFTER_JUMP + 1  # no bar, or its start is not in the log
        elif before is not None and self._moves <= _MOVES_AFTER_JUMP:
            self._note_move(before, point, step)

    def _note_move(self, before: int, point: Point, step: int) -> None:
        if step < before:  # another bar
            self._moves = _MOVES_AFTER_JUMP + 1
        elif self.jump is None:
            where = (point.file, point.line, point.offset)
            self.jump = StepJump(before, step, *where, total=point.total_steps)
        else:
            widest = max(step - before, self.jump.then or 0)
            self.jump = replace(self.jump, then=widest)
        self._moves += 1


def _close_segment(course: _OpenSegment) -> Segment:
    first, second, last = course.first, course.second, course.held
    return Segment(
        file=first.file,
        line=first.line,
        offset=first.offset,
        points=course.points,
        first_step=first.step,
        second_step=second.step if second is not None else None,
        last_step=last.step,
        first_epoch=first.epoch,
        second_epoch=second.epoch if second is not None else None,
        last_epoch=last.epoch,
    )
