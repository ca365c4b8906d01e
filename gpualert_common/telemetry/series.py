"""The telemetry of a run, read from its record: series of numbers, events, available sources."""

from __future__ import annotations

import os
import time
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpualert_common.record import Record
from gpualert_common.structs import Struct, field
from gpualert_common.telemetry.source import (
    ObservedRun,
    SourceEvent,
    SourceUnavailableError,
    load_source_class,
)
from gpualert_common.telemetry.storage import MOST_LINE_BYTES, TELEMETRY, decode_line

_MOST_BYTES = 256 << 20
"""Limit for reading: far more than a run of thirty days on one host writes."""


class Series(Struct, frozen=True):
    """One number of one entity over time: ``at`` in seconds since the epoch, in ascending order.

    Older samples are merged.  For a merged sample ``low`` and ``high`` are the extremes since the
    sample before, and ``value`` is the mean of a gauge or the last value of a counter.  Otherwise
    all three are equal.
    """

    at: Sequence[float] = ()
    value: Sequence[float] = ()
    low: Sequence[float] = ()
    high: Sequence[float] = ()

    def __bool__(self) -> bool:
        return bool(self.at)

    @property
    def peak(self) -> float:
        """The highest value; 0 if there is none."""
        return max(self.high, default=0.0)

    @property
    def least(self) -> float:
        """The lowest value; 0 if there is none."""
        return min(self.low, default=0.0)

    @property
    def last(self) -> float:
        """The newest value; 0 if there is none."""
        return self.value[-1] if self.value else 0.0

    @property
    def rise(self) -> float:
        """The growth of a counter over the series; a counter that restarts counts from 0."""
        grown = 0.0
        for before, after in zip(self.value, self.value[1:], strict=False):
            grown += after - before if after >= before else after
        return grown

    def since(self, at: float) -> Series:
        """Return the part of the series from this time on."""
        first = bisect_left(self.at, at)
        return Series(self.at[first:], self.value[first:], self.low[first:], self.high[first:])

    def until(self, at: float) -> Series:
        """Return the part of the series before this time."""
        end = bisect_left(self.at, at)
        return Series(self.at[:end], self.value[:end], self.low[:end], self.high[:end])


class TelemetryEvent(Struct, frozen=True):
    """An event as a source reported it; ``at`` is in seconds since the epoch."""

    what: str
    of: str
    source: str
    at: float
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)


class SourceAvailability(Struct, frozen=True):
    """Status of a source, and its constant facts."""

    name: str
    available: bool
    why: str = ""
    remedy: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


class Telemetry:
    """All telemetry written so far; :meth:`read` adds the lines appended since.

    It never raises for the content of the file, which may be truncated or of a later release.
    """

    def __init__(self) -> None:
        self._reset()

    def _reset(self, inode: int = -1) -> None:
        self.sources: dict[str, SourceAvailability] = {}
        self.events: list[TelemetryEvent] = []
        self.sample_count = 0
        self._columns: dict[str, list[str]] = {}
        self._series: dict[tuple[str, str], tuple[array[float], ...]] = {}
        self._inode = inode
        self._offset = 0

    def read(self, record: Record) -> None:
        """Read the lines appended since the last call; all lines if the file was rewritten."""
        try:
            fd = record.open_log(TELEMETRY)
        except OSError:
            return
        with open(fd, "rb") as file:
            inode = os.fstat(file.fileno()).st_ino
            if inode != self._inode:
                self._reset(inode)
            file.seek(self._offset)
            while self._offset < _MOST_BYTES and (line := file.readline(MOST_LINE_BYTES)):
                if not line.endswith(b"\n"):
                    break  # the line is incomplete
                self._offset += len(line)
                value = decode_line(line)
                if value is not None:
                    self._read_line(value)

    def add(self, source: SourceAvailability, events: Iterable[TelemetryEvent]) -> None:
        """Add a source and its events that are not in the file."""
        self.sources[source.name] = source
        self.events += events

    def list_entities(self, kind: str) -> list[str]:
        """Return the entities of a kind that have numbers, such as every "gpu:0" of "gpu", in
        order."""
        found = (of for of in self._columns if of.partition(":")[0] == kind)
        return sorted(found, key=lambda of: (len(of), of))

    def series(self, of: str, name: str) -> Series:
        """Return one number over time; an empty series if there is none."""
        return Series(*self._series.get((of, name), ()))

    def find_events(self, *what: str) -> list[TelemetryEvent]:
        """Return the events of these kinds, in order of time."""
        return sorted((one for one in self.events if one.what in what), key=lambda one: one.at)

    def _read_line(self, line: Mapping[str, Any]) -> None:
        try:
            if "rows" in line:
                self._read_sample(line)
            elif "columns" in line:
                self._columns.update(line["columns"])
            elif "source" in line:
                found = SourceAvailability(**line["source"])
                self.sources[found.name] = found
            elif "event" in line:
                self.events.append(TelemetryEvent(**line["event"]))
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
            return  # a line of a later release, or not ours

    def _read_sample(self, sample: Mapping[str, Any]) -> None:
        at = float(sample["at"])
        self.sample_count += int(sample["n"])
        for of, row in sample["rows"].items():
            lows, highs = sample.get("low", {}).get(of, row), sample.get("high", {}).get(of, row)
            names = self._columns.get(of, ())
            for name, value, low, high in zip(names, row, lows, highs, strict=False):
                if value is None:
                    continue
                lowest, highest = value if low is None else low, value if high is None else high
                numbers = array(
                    "d", (at, value, lowest, highest)
                )  # fails before any of the four is stored
                kept = self._series.get((of, name))
                if kept is None:
                    kept = self._series[of, name] = tuple(array("d") for _ in range(4))
                for one, number in zip(kept, numbers, strict=True):
                    one.append(number)


def sample_once(name: str, run: ObservedRun) -> tuple[SourceAvailability, list[TelemetryEvent]]:
    """Sample a source once; return its availability and its events, without its numbers."""
    try:
        opened = load_source_class(name)(run)
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
