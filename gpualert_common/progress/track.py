"""One way to read one stream: its points in order, cut into segments, told once each."""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields, replace

from gpualert_common.progress.model import Phase, Point, Segment, StepJump
from gpualert_common.progress.thinning import PointSeries

MOST_SEGMENTS = 64
_MOVES_AFTER_JUMP = 5
_FIELDS = tuple(one.name for one in fields(Point))


def completed(point: Point, by: Point) -> Point:
    """*point* with what it lacks from another line that told of the same step."""
    lacks = {
        name: value
        for name in _FIELDS
        if getattr(point, name) is None and (value := getattr(by, name)) is not None
    }
    return replace(point, **lacks) if lacks else point


@dataclass(slots=True)
class _Course:
    """Where the steps of one segment stand.

    ``latest`` and ``former`` are the last two positions, ``held`` the point of the latest one,
    which a second line about it may still complete.
    """

    first: Point
    held: Point
    latest: float | None
    former: float | None = None
    second: Point | None = None
    points: int = 1


class Track:
    """What one parser, or one shape of line, told of one stream.

    A step that comes again at once is the same step, told by another rank or in another way; one
    that lies further back begins a segment: a restart, or the next trial.
    """

    def __init__(
        self,
        unit: str = "step",
        *,
        sure: bool = True,
        by_epoch: bool = False,
        by_clock: bool = False,
    ) -> None:
        """*by_epoch*: it has epochs, of so many digits, and steps only now and then.  *by_clock*:
        when a line is printed depends on the time.
        """
        self.unit = unit
        self.sure = sure
        self._by_epoch = by_epoch
        self._by_clock = by_clock
        self.points = PointSeries()
        self.ticks = PointSeries()
        self.evals = PointSeries()
        self.total_steps: int | None = None
        self.jump: StepJump | None = None
        self.advances = 0
        self.restarts = 0
        self._course: _Course | None = None
        self._ended: tuple[Segment, ...] = ()
        self._tick: int | None = None
        self._moves = 0
        self._returns = 0

    def copy(self) -> Track:
        """One that goes on apart from this."""
        other = Track()
        other.__dict__.update(self.__dict__)
        other.points, other.ticks, other.evals = (
            series.copy() for series in (self.points, self.ticks, self.evals)
        )
        other._course = copy.copy(self._course)
        return other

    def add(self, point: Point) -> None:
        """Take the next point: of training with or without a loss, or of evaluation."""
        self.total_steps = point.total_steps or self.total_steps
        if point.phase is Phase.EVAL:
            self.evals.add(self._placed(point))
        elif point.loss is None and point.finite:
            self._add_tick(point)
        else:
            self._add_point(point)

    def finish(self) -> None:
        """Let go of the last point, which nothing can complete any more."""
        if self._course is not None:
            self.points.add(self._placed(self._course.held))

    @property
    def strength(self) -> int:
        """How much speaks for this way to read: steps that ascend, not some that jump about."""
        return self.advances - 3 * self.restarts if self.points.count or self._course else 0

    @property
    def pace(self) -> int:
        """The same for steps without losses: a bar that begins again and again is no training's."""
        return self.ticks.count - 3 * self._returns

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The stretches of ascending steps: of more than :data:`MOST_SEGMENTS` the outer ones."""
        return self._ended if self._course is None else (*self._ended, _segment(self._course))

    def _add_point(self, point: Point) -> None:
        position = point.epoch if self._by_epoch else point.position
        course = self._course
        if course is None:
            self._course = _Course(first=point, held=point, latest=position)
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
            course.held = completed(course.held, point)
        elif position != course.former:
            self.points.add(self._placed(course.held))
            self._end_segment(course)
            self._course = _Course(first=point, held=point, latest=position)

    def _advance(self, course: _Course, point: Point, position: float | None) -> None:
        self.points.add(self._placed(course.held))
        if course.second is None and position != course.latest and not self._by_clock:
            course.second = point
        course.former = course.latest
        course.latest = position if position is not None else course.latest
        course.held = point
        course.points += 1
        self.advances += 1

    def _placed(self, point: Point) -> Point:
        return replace(point, segment=self.restarts) if self.restarts else point

    def _end_segment(self, course: _Course) -> None:
        kept = (*self._ended, _segment(course))
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
        self.ticks.add(self._placed(point))
        if before is None and step:
            self._moves = _MOVES_AFTER_JUMP + 1  # no bar, or one whose beginning is not in the log
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


def _segment(course: _Course) -> Segment:
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
