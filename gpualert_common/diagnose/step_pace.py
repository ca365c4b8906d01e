"""Pace of a run in progress: the time of a step by the clock, at its beginning and now."""

from __future__ import annotations

from collections import deque

from gpualert_common.diagnose import thresholds
from gpualert_common.structs import Struct

_MOST_POSITIONS = 20
"""Positions of the training that the pace before the limit of its job is taken from."""


class StepPaces(Struct, frozen=True):
    """Seconds per step in some windows of a run: those of its beginning, and the latest ones.

    ``is_reported`` says that the log also reports the time of a step, which is then the one that
    the history has.
    """

    early: tuple[float, ...] = ()
    recent: tuple[float, ...] = ()
    is_reported: bool = False


class StepPositions:
    """The latest positions of a training: its steps, with the times at which they were printed."""

    def __init__(self) -> None:
        self._latest: deque[tuple[float, int]] = deque(maxlen=_MOST_POSITIONS)

    def add(self, at: float, step: int) -> None:
        """Add the last step of the log, and the time at which the log last grew."""
        if self._latest and step == self._latest[-1][1]:
            return
        if self._latest and step < self._latest[-1][1]:
            self._latest.clear()  # the training began again
        self._latest.append((at, step))

    @property
    def stepping(self) -> tuple[int, float] | None:
        """The steps and the seconds between the first and the last of the positions."""
        if len(self._latest) < 2:
            return None
        (began_at, first), (at, last) = self._latest[0], self._latest[-1]
        return (last - first, at - began_at) if at > began_at else None


class PaceWindows:
    """Paces of a training in windows of some steps and some seconds.

    The first window of the run is left out: it has the compilation and the first reading of the
    data.  The next ones are its beginning.
    """

    def __init__(self) -> None:
        self._start: tuple[float, int] | None = None
        self._is_warm = False
        self._is_reported = False
        self._early: list[float] = []
        self._recent: deque[float] = deque(maxlen=int(thresholds.PACE_WINDOWS))

    def add(self, at: float, step: int, *, is_reported: bool = False) -> None:
        """Add the last step of the log, and the time at which the log last grew.

        ``is_reported`` says that the log reports the time of a step.
        """
        self._is_reported = self._is_reported or is_reported
        if self._start is None or step < self._start[1]:
            self._start = (at, step)  # the training began, or began again
            return
        began_at, first = self._start
        seconds, steps = at - began_at, step - first
        if seconds < thresholds.PACE_WINDOW_S or steps < thresholds.PACE_WINDOW_STEPS:
            return
        self._start = (at, step)
        if not self._is_warm:
            self._is_warm = True
        elif len(self._early) < thresholds.PACE_WINDOWS:
            self._early.append(seconds / steps)
        else:
            self._recent.append(seconds / steps)

    def interrupt(self) -> None:
        """Begin a new window: the machine slept, or its clock was set."""
        self._start = None

    @property
    def paces(self) -> StepPaces | None:
        """The pace at the beginning and now; None until enough windows are complete."""
        if len(self._recent) < thresholds.PACE_WINDOWS:
            return None
        return StepPaces(tuple(self._early), tuple(self._recent), self._is_reported)
