"""What the telemetry of a run says: series of numbers, events, and which sources there were."""

from __future__ import annotations

import os
import time
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpualert_common.record import Record
from gpualert_common.telemetry.source import (
    ObservedRun,
    SourceEvent,
    SourceUnavailableError,
    source_class,
)
from gpualert_common.telemetry.storage import TELEMETRY, decode

_MOST_LINE_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Series:
    """One number of one thing over time: ``at`` in seconds since the epoch, in order.

    Where several looks were merged ``low`` and ``high`` are the extremes between this time and the
    one before, and ``value`` the mean of a gauge or the last of a counter; else all are the same.
    """

    at: Sequence[float] = ()
    value: Sequence[float] = ()
    low: Sequence[float] = ()
    high: Sequence[float] = ()

    def __bool__(self) -> bool:
        return bool(self.at)

    @property
    def peak(self) -> float:
        """The highest value; 0 of none."""
        return max(self.high, default=0.0)

    @property
    def least(self) -> float:
        """The lowest value; 0 of none."""
        return min(self.low, default=0.0)

    @property
    def last(self) -> float:
        """The newest value; 0 of none."""
        return self.value[-1] if self.value else 0.0

    @property
    def rise(self) -> float:
        """By how much a counter grew while it was looked at; one that began anew counts from 0."""
        grown = 0.0
        for before, after in zip(self.value, self.value[1:], strict=False):
            grown += after - before if after >= before else after
        return grown

    def since(self, at: float) -> Series:
        """What of it was seen at that time or later."""
        first = bisect_left(self.at, at)
        return Series(self.at[first:], self.value[first:], self.low[first:], self.high[first:])

    def until(self, at: float) -> Series:
        """What of it was seen before that time."""
        end = bisect_left(self.at, at)
        return Series(self.at[:end], self.value[:end], self.low[:end], self.high[:end])


@dataclass(frozen=True, slots=True)
class TelemetryEvent:
    """An event as a source noticed it; ``at`` in seconds since the epoch."""

    what: str
    of: str
    source: str
    at: float
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceAvailability:
    """Whether a source could be had, and what does not change of what it saw."""

    name: str
    available: bool
    why: str = ""
    remedy: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


class Telemetry:
    """All that was written down so far; :meth:`read` takes in what has come since.

    Never raises for what stands in the file: it may be cut off, or of a later release.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self, inode: int = -1) -> None:
        self.sources: dict[str, SourceAvailability] = {}
        self.events: list[TelemetryEvent] = []
        self.looks = 0
        self._columns: dict[str, list[str]] = {}
        self._series: dict[tuple[str, str], tuple[array[float], ...]] = {}
        self._inode = inode
        self._offset = 0

    def read(self, record: Record) -> None:
        """Take in what was appended since the last time; all of it where it was written anew."""
        try:
            file = open(os.path.join(record.path, TELEMETRY), "rb")  # noqa: SIM115 - below
        except OSError:
            return
        with file:
            inode = os.fstat(file.fileno()).st_ino
            if inode != self._inode:
                self._forget(inode)
            file.seek(self._offset)
            while line := file.readline(_MOST_LINE_BYTES):
                if not line.endswith(b"\n"):
                    break  # it is being written
                self._offset += len(line)
                value = decode(line)
                if value is not None:
                    self._take(value)

    def add(self, source: SourceAvailability, events: Iterable[TelemetryEvent]) -> None:
        """Take in what was seen without being written down."""
        self.sources[source.name] = source
        self.events += events

    def things(self, kind: str) -> list[str]:
        """What numbers there are of, such as every "gpu:0" of kind "gpu", in order."""
        found = (of for of in self._columns if of.partition(":")[0] == kind)
        return sorted(found, key=lambda of: (len(of), of))

    def series(self, of: str, name: str) -> Series:
        """One number over time; an empty series where it was never seen."""
        return Series(*self._series.get((of, name), ()))

    def happened(self, *what: str) -> list[TelemetryEvent]:
        """The events of these kinds, in order."""
        return sorted((one for one in self.events if one.what in what), key=lambda one: one.at)

    def _take(self, line: Mapping[str, Any]) -> None:
        try:
            if "rows" in line:
                self._take_sample(line)
            elif "columns" in line:
                self._columns.update(line["columns"])
            elif "source" in line:
                found = SourceAvailability(**line["source"])
                self.sources[found.name] = found
            elif "event" in line:
                self.events.append(TelemetryEvent(**line["event"]))
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
            return  # of a release that writes more, or nobody's

    def _take_sample(self, look: Mapping[str, Any]) -> None:
        at = float(look["at"])
        self.looks += int(look["n"])
        for of, row in look["rows"].items():
            lows, highs = look.get("low", {}).get(of, row), look.get("high", {}).get(of, row)
            names = self._columns.get(of, ())
            for name, value, low, high in zip(names, row, lows, highs, strict=False):
                if value is None:
                    continue
                lowest, highest = value if low is None else low, value if high is None else high
                numbers = array("d", (at, value, lowest, highest))  # or none of the four is kept
                kept = self._series.get((of, name))
                if kept is None:
                    kept = self._series[of, name] = tuple(array("d") for _ in range(4))
                for one, number in zip(kept, numbers, strict=True):
                    one.append(number)


def sample_once(name: str, subject: ObservedRun) -> tuple[SourceAvailability, list[TelemetryEvent]]:
    """What a source has to tell of a run at this moment, its numbers left out."""
    try:
        opened = source_class(name)(subject)
    except SourceUnavailableError as error:
        return SourceAvailability(name, available=False, why=error.why, remedy=error.remedy), []
    try:
        now = time.time()
        events = [
            TelemetryEvent(
                one.what, one.of, name, now if one.at is None else one.at, one.text, one.fields
            )
            for one in opened.sample()
            if isinstance(one, SourceEvent)
        ]
    finally:
        opened.close()
    return SourceAvailability(name, available=True, facts=opened.facts), events
