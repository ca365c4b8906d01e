"""``telemetry.jsonl``: what the sources saw of a run, bounded however long it goes on.

A line is one object.  ``source`` lines say which sources there are, and what does not change of
them; ``event`` lines what happened; ``columns`` lines name the numbers of a thing; all others are
looks: ``at`` (seconds since the epoch), ``n`` (looks in one) and the ``rows`` of each thing.

Looks grow older and are thinned: the newest :data:`DENSE` stand as they were, those before in tiers
of :data:`TIER`, of which each has half as many as the one after it.  A look of many holds the last
value of each counter (names that end in ``_total``) and the mean of each gauge, with ``low`` and
``high`` beside, so that no extreme is ever lost.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from gpualert_common.record import Record
from gpualert_common.telemetry.source import Sample, SourceEvent

TELEMETRY = "telemetry.jsonl"

DENSE = 720
"""An hour of looks every five seconds: what a person looks at first when a run has just failed."""
TIER = 240
"""Of thirty days, some 520,000 looks, twelve tiers remain: 3,600 lines."""
_SLACK = 720
"""So many looks are written before the file is thinned again, which writes all of it anew."""
MOST_THINGS = 1000
"""Of which numbers are kept: processes come and go, and each that used a GPU is one."""
MOST_EVENTS = 2000
_MOST_TEXT = 1000
_TEMPORARY = f".{TELEMETRY}.new"
_LOOK = re.compile(rb'\{"at":([\d.]+),"n":(\d+),"rows":.*\n')
"""As it is written here."""

Row = list[float | None]
Look = Mapping[str, Any]
_Way = Callable[[float, float], float]


def is_counter(name: str) -> bool:
    """True for a number that only ever grows."""
    return name.endswith("_total")


class TelemetryWriter:
    """Appends to the telemetry of one record, and thins it.  Its methods raise OSError."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._columns: dict[str, list[str]] = {}
        self._looks = 0
        self._events = 0
        for line in read_lines(record):  # of one before us, whose place we take
            self._columns.update(line.get("columns", {}))
            self._looks += "rows" in line
            self._events += "event" in line
        self._thin_at = DENSE + _SLACK

    def add_source(self, name: str, **fields: Any) -> None:
        """Write down that there is a source, or why there is none."""
        self._append({"source": {"name": name, **fields}})

    def add(self, at: float, seen: Iterable[tuple[str, Sample | SourceEvent]]) -> None:
        """Write down what was seen at one moment, by the name of each source."""
        rows: dict[str, Row] = {}
        for source, one in seen:
            if isinstance(one, SourceEvent):
                self._add_event(at, source, one)
            elif one.values and (one.of in self._columns or len(self._columns) < MOST_THINGS):
                rows[one.of] = self._row(one, rows.get(one.of, []))
        if rows:
            self._append({"at": round(at, 2), "n": 1, "rows": rows})
            self._looks += 1
            if self._looks >= self._thin_at:
                self.thin()

    def thin(self) -> None:
        """Write the file anew with its older looks merged."""
        kept: list[Look] = []
        stored: list[Look] = []
        for line in _raw_lines(self._record):
            if look := _LOOK.fullmatch(line):
                stored.append(_Stored(line, float(look[1]), int(look[2])))
            elif (other := decode(line)) is not None and "columns" not in other:
                (stored if "rows" in other else kept).append(other)
        looks = thinned(stored, self._columns)
        self._looks = len(looks)
        self._thin_at = self._looks + _SLACK
        path = os.path.join(self._record.path, _TEMPORARY)
        with open(path, "wb", opener=_private) as file:
            columns = {"columns": self._columns}
            file.writelines(_line_of(one) for one in (*kept, columns, *looks))
        os.replace(path, os.path.join(self._record.path, TELEMETRY))

    def _row(self, sample: Sample, row: Row) -> Row:
        columns = self._columns.setdefault(sample.of, [])
        new = [name for name in sample.values if name not in columns]
        if new:
            columns += new
            self._append({"columns": {sample.of: columns}})
        row += [None] * (len(columns) - len(row))
        for index, name in enumerate(columns):
            if name in sample.values and math.isfinite(sample.values[name]):
                row[index] = _short(sample.values[name])
        return row

    def _add_event(self, at: float, source: str, event: SourceEvent) -> None:
        self._events += 1
        if self._events > MOST_EVENTS:
            return
        self._append(
            {
                "event": {
                    "what": event.what,
                    "of": event.of,
                    "source": source,
                    "at": round(at if event.at is None else event.at, 3),
                    "text": event.text[:_MOST_TEXT],
                    **({"fields": dict(event.fields)} if event.fields else {}),
                }
            }
        )

    def _append(self, line: Mapping[str, Any]) -> None:
        self._record.append(TELEMETRY, _encode(line))


def read_lines(record: Record) -> Iterator[dict[str, Any]]:
    """The objects of a record's telemetry, without what is none, such as a line cut off."""
    for line in _raw_lines(record):
        value = decode(line)
        if value is not None:
            yield value


def _raw_lines(record: Record) -> Iterator[bytes]:
    try:
        with open(os.path.join(record.path, TELEMETRY), "rb", opener=_no_link) as file:
            yield from file
    except FileNotFoundError:
        return


def decode(line: bytes) -> dict[str, Any] | None:
    """The object that a line holds, None where it holds none."""
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class _Stored(Look):
    """A look as it stands in the file: few are merged, and only these are decoded."""

    def __init__(self, line: bytes, at: float, n: int) -> None:
        self.line = line
        self._at = at
        self._n = n

    @cached_property
    def _decoded(self) -> Look:
        return decode(self.line) or {"at": self._at, "n": self._n, "rows": {}}

    def __getitem__(self, name: str) -> Any:
        return self._n if name == "n" else self._decoded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._decoded)

    def __len__(self) -> int:
        return len(self._decoded)


def _line_of(one: Look) -> bytes:
    return one.line if isinstance(one, _Stored) else f"{_encode(one)}\n".encode()


def thinned(looks: Sequence[Look], columns: Mapping[str, Sequence[str]]) -> list[Look]:
    """The looks in tiers: the newest as they are, each tier before them merged once more."""
    if len(looks) <= DENSE:
        return list(looks)
    older, dense = looks[:-DENSE], looks[-DENSE:]
    tiers: list[list[Look]] = []
    weight = 2
    while older:
        merged = list(_in_pairs(older, weight, columns))
        tiers.append(merged[-TIER:])
        older, weight = merged[:-TIER], 2 * weight
    return [look for tier in reversed(tiers) for look in tier] + list(dense)


def _in_pairs(
    looks: Sequence[Look], weight: int, columns: Mapping[str, Sequence[str]]
) -> Iterator[Look]:
    """Neighbours merged until each weighs that much; what already does stays as it is."""
    open_: Look | None = None
    for look in looks:
        open_ = look if open_ is None else merge(open_, look, columns)
        if open_["n"] >= weight:
            yield open_
            open_ = None
    if open_ is not None:
        yield open_


def merge(one: Look, other: Look, columns: Mapping[str, Sequence[str]]) -> Look:
    """Two looks as one, at the time of the later."""
    earlier, later = one["n"], other["n"]
    looks = earlier + later

    def mean(first: float, second: float) -> float:
        return _short((first * earlier + second * later) / looks)

    merged: dict[str, Any] = {"at": other["at"], "n": looks, "rows": {}, "low": {}, "high": {}}
    for of in {**one["rows"], **other["rows"]}:
        names = columns.get(of, ())
        ways: dict[str, list[_Way]] = {
            "rows": [_last if is_counter(name) else mean for name in names],
            "low": [min] * len(names),
            "high": [max] * len(names),
        }
        for edge, way in ways.items():
            rows = (_row(look, of, edge, len(names)) for look in (one, other))
            merged[edge][of] = [
                second if first is None else first if second is None else joined(first, second)
                for joined, first, second in zip(way, *rows, strict=True)
            ]
    return merged


def _row(look: Look, of: str, edge: str, length: int) -> Row:
    """All numbers of a thing; a look before it got its last ones has none of these."""
    row: Row = (look.get(edge) or look["rows"]).get(of, [])
    return row[:length] + [None] * (length - len(row))


def _last(_first: float, second: float) -> float:
    return second


def _short(value: float) -> float:
    """Six digits are more than any sensor has, and half as long on the disk; counters are whole."""
    return value if isinstance(value, int) else float(f"{value:.6g}")


def _encode(line: Mapping[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=str)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW)
