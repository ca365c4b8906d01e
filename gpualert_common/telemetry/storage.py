"""``telemetry.jsonl``: the samples and events of a run, bounded for a run of any length.

Each line is one object.  A ``source`` line describes a source: whether it is available, and its
constant facts.  An ``event`` line holds an event.  A ``columns`` line names the numbers of an
entity.  All other lines are samples: ``at`` (seconds since the epoch), ``n`` (number of samples
merged into this one), and ``rows``, the numbers of each entity.

Older samples are merged: the newest :data:`DENSE_SAMPLES` stay as they are.  Those before them form
tiers of :data:`TIER_SAMPLES`; each tier has half the resolution of the one after it.  A merged
sample holds the last value of each counter (names that end in ``_total``) and the mean of each
gauge.  Its ``low`` and ``high`` keep the extremes.
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
from gpualert_common.whole_words import cut_words

TELEMETRY = "telemetry.jsonl"

DENSE_SAMPLES = 720
"""One hour of samples every five seconds: the part that people read first after a failure."""
TIER_SAMPLES = 240
"""Thirty days, some 520,000 samples, become twelve tiers: 3,600 lines."""
_SLACK = 720
"""Number of samples between two compactions, each of which rewrites the whole file."""
MOST_ENTITIES = 1000
"""Number of entities with numbers: each process that used a GPU is one, and processes come and go.
"""
MOST_EVENTS = 2000
_MOST_TEXT = 1000
MOST_LINE_BYTES = 4 << 20
"""Limit for reading a line."""
_TEMPORARY = f".{TELEMETRY}.new"
_SAMPLE_LINE = re.compile(rb'\{"at":([\d.]+),"n":(\d+),"rows":.*\n')
"""A sample in the form in which this module writes it."""

Row = list[float | None]
StoredSample = Mapping[str, Any]
_Reduce = Callable[[float, float], float]


def is_counter(name: str) -> bool:
    """Return True for a number that never falls."""
    return name.endswith("_total")


class TelemetryWriter:
    """Appends to the telemetry of one record and compacts it.  Its methods raise OSError."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._columns: dict[str, list[str]] = {}
        self._sample_count = 0
        self._events = 0
        for line in read_lines(record):  # of an earlier sampler
            self._columns.update(line.get("columns", {}))
            self._sample_count += "rows" in line
            self._events += "event" in line
        self._compact_at = DENSE_SAMPLES + _SLACK

    def add_source(self, name: str, **fields: Any) -> None:
        """Write that a source is available, or why it is not."""
        self._append({"source": {"name": name, **fields}})

    def add(self, at: float, output: Iterable[tuple[str, Sample | SourceEvent]]) -> None:
        """Write the samples and events of one time; each comes with the name of its source."""
        rows: dict[str, Row] = {}
        for source, one in output:
            if isinstance(one, SourceEvent):
                self._add_event(at, source, one)
            elif one.values and (one.of in self._columns or len(self._columns) < MOST_ENTITIES):
                rows[one.of] = self._get_row(one, rows.get(one.of, []))
        if rows:
            self._append({"at": round(at, 2), "n": 1, "rows": rows})
            self._sample_count += 1
            if self._sample_count >= self._compact_at:
                self.compact()

    def compact(self) -> None:
        """Rewrite the file with its older samples merged."""
        kept: list[StoredSample] = []
        stored: list[StoredSample] = []
        for line in _read_raw_lines(self._record):
            if sample := _SAMPLE_LINE.fullmatch(line):
                stored.append(_UndecodedSample(line, float(sample[1]), int(sample[2])))
            elif (other := decode_line(line)) is not None and "columns" not in other:
                (stored if "rows" in other else kept).append(other)
        samples = merge_old_samples(stored, self._columns)
        self._sample_count = len(samples)
        self._compact_at = self._sample_count + _SLACK
        path = os.path.join(self._record.path, _TEMPORARY)
        with open(path, "wb", opener=_open_private) as file:
            columns = {"columns": self._columns}
            file.writelines(_encode_line(one) for one in (*kept, columns, *samples))
        os.replace(path, os.path.join(self._record.path, TELEMETRY))

    def _get_row(self, sample: Sample, row: Row) -> Row:
        columns = self._columns.setdefault(sample.of, [])
        new = [name for name in sample.values if name not in columns]
        if new:
            columns += new
            self._append({"columns": {sample.of: columns}})
        row += [None] * (len(columns) - len(row))
        for index, name in enumerate(columns):
            if name in sample.values and math.isfinite(sample.values[name]):
                row[index] = _round_value(sample.values[name])
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
                    "text": cut_words(event.text, _MOST_TEXT),
                    **({"fields": dict(event.fields)} if event.fields else {}),
                }
            }
        )

    def _append(self, line: Mapping[str, Any]) -> None:
        self._record.append(TELEMETRY, _encode(line))


def read_lines(record: Record) -> Iterator[dict[str, Any]]:
    """Yield the objects of a record's telemetry; skip invalid lines, such as a truncated one."""
    for line in _read_raw_lines(record):
        value = decode_line(line)
        if value is not None:
            yield value


def _read_raw_lines(record: Record) -> Iterator[bytes]:
    try:
        fd = record.open_log(TELEMETRY)
    except FileNotFoundError:
        return
    with open(fd, "rb") as file:
        while line := file.readline(MOST_LINE_BYTES):
            yield line


def decode_line(line: bytes) -> dict[str, Any] | None:
    """Return the object in a line; None if it holds none."""
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class _UndecodedSample(StoredSample):
    """A sample as it is in the file.  Few are merged, and only these are decoded."""

    def __init__(self, line: bytes, at: float, n: int) -> None:
        self.line = line
        self._at = at
        self._n = n

    @cached_property
    def _decoded(self) -> StoredSample:
        return decode_line(self.line) or {"at": self._at, "n": self._n, "rows": {}}

    def __getitem__(self, name: str) -> Any:
        return self._n if name == "n" else self._decoded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._decoded)

    def __len__(self) -> int:
        return len(self._decoded)


def _encode_line(one: StoredSample) -> bytes:
    return one.line if isinstance(one, _UndecodedSample) else f"{_encode(one)}\n".encode()


def merge_old_samples(
    samples: Sequence[StoredSample], columns: Mapping[str, Sequence[str]]
) -> list[StoredSample]:
    """Return the samples in tiers: the newest unchanged, each tier before them merged once more."""
    if len(samples) <= DENSE_SAMPLES:
        return list(samples)
    older, dense = samples[:-DENSE_SAMPLES], samples[-DENSE_SAMPLES:]
    tiers: list[list[StoredSample]] = []
    weight = 2
    while older:
        merged = list(_merge_pairs(older, weight, columns))
        tiers.append(merged[-TIER_SAMPLES:])
        older, weight = merged[:-TIER_SAMPLES], 2 * weight
    return [sample for tier in reversed(tiers) for sample in tier] + list(dense)


def _merge_pairs(
    samples: Sequence[StoredSample], weight: int, columns: Mapping[str, Sequence[str]]
) -> Iterator[StoredSample]:
    """Merge neighbours until each sample has that weight; samples that have it stay unchanged."""
    open_: StoredSample | None = None
    for sample in samples:
        open_ = sample if open_ is None else merge_samples(open_, sample, columns)
        if open_["n"] >= weight:
            yield open_
            open_ = None
    if open_ is not None:
        yield open_


def merge_samples(
    one: StoredSample, other: StoredSample, columns: Mapping[str, Sequence[str]]
) -> StoredSample:
    """Return two samples as one, at the time of the later one."""
    earlier, later = one["n"], other["n"]
    samples = earlier + later

    def mean(first: float, second: float) -> float:
        return _round_value((first * earlier + second * later) / samples)

    merged: dict[str, Any] = {"at": other["at"], "n": samples, "rows": {}, "low": {}, "high": {}}
    for of in {**one["rows"], **other["rows"]}:
        names = columns.get(of, ())
        reductions: dict[str, list[_Reduce]] = {
            "rows": [_take_last if is_counter(name) else mean for name in names],
            "low": [min] * len(names),
            "high": [max] * len(names),
        }
        for edge, reduction in reductions.items():
            rows = (_get_row(sample, of, edge, len(names)) for sample in (one, other))
            merged[edge][of] = [
                second if first is None else first if second is None else joined(first, second)
                for joined, first, second in zip(reduction, *rows, strict=True)
            ]
    return merged


def _get_row(sample: StoredSample, of: str, edge: str, length: int) -> Row:
    """Return all numbers of an entity; None for columns that the sample does not have yet."""
    row: Row = (sample.get(edge) or sample["rows"]).get(of, [])
    return row[:length] + [None] * (length - len(row))


def _take_last(_first: float, second: float) -> float:
    return second


def _round_value(value: float) -> float:
    """Round to six digits, more than any sensor has and half as long in the file; keep integers."""
    return value if isinstance(value, int) else float(f"{value:.6g}")


def _encode(line: Mapping[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=str)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
