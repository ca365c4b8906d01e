"""``telemetry.jsonl``: what the sources saw of a run, bounded however long it goes on.

A line is one object.  ``source`` lines say which sources there are, and what does not change of
them; ``event`` lines what happened; ``columns`` lines name the numbers of a thing; all others are
samples: ``at`` (seconds since the epoch), ``n`` (samples in one) and the ``rows`` of each thing.

Looks grow older and are merge_old_samples: the newest :data:`DENSE_SAMPLES` stand as they were, those before in tiers
of :data:`TIER_SAMPLES`, of which each has half as many as the one after it.  A sample of many holds the last
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

DENSE_SAMPLES = 720
"""An hour of samples every five seconds: what a person samples at first when a run has just failed."""
TIER_SAMPLES = 240
"""Of thirty days, some 520,000 samples, twelve tiers remain: 3,600 lines."""
_SLACK = 720
"""So many samples are written before the file is merge_old_samples again, which writes all of it anew."""
MOST_ENTITIES = 1000
"""Of which numbers are kept: processes come and go, and each that used a GPU is one."""
MOST_EVENTS = 2000
_MOST_TEXT = 1000
_TEMPORARY = f".{TELEMETRY}.new"
_SAMPLE_LINE = re.compile(rb'\{"at":([\d.]+),"n":(\d+),"rows":.*\n')
"""As it is written here."""

Row = list[float | None]
StoredSample = Mapping[str, Any]
_Reduce = Callable[[float, float], float]


def is_counter(name: str) -> bool:
    """True for a number that only ever grows."""
    return name.endswith("_total")


class TelemetryWriter:
    """Appends to the telemetry of one record, and thins it.  Its methods raise OSError."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._columns: dict[str, list[str]] = {}
        self._sample_count = 0
        self._events = 0
        for line in read_lines(record):  # of one before us, whose place we take
            self._columns.update(line.get("columns", {}))
            self._sample_count += "rows" in line
            self._events += "event" in line
        self._compact_at = DENSE_SAMPLES + _SLACK

    def write_source(self, name: str, **fields: Any) -> None:
        """Write down that there is a source, or why there is none."""
        self._append({"source": {"name": name, **fields}})

    def add(self, at: float, seen: Iterable[tuple[str, Sample | SourceEvent]]) -> None:
        """Write down what was seen at one moment, by the name of each source."""
        rows: dict[str, Row] = {}
        for source, one in seen:
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
        """Write the file anew with its older samples merged."""
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
                    "text": event.text[:_MOST_TEXT],
                    **({"fields": dict(event.fields)} if event.fields else {}),
                }
            }
        )

    def _append(self, line: Mapping[str, Any]) -> None:
        self._record.append(TELEMETRY, _encode(line))


def read_lines(record: Record) -> Iterator[dict[str, Any]]:
    """The objects of a record's telemetry, without what is none, such as a line cut off."""
    for line in _read_raw_lines(record):
        value = decode_line(line)
        if value is not None:
            yield value


def _read_raw_lines(record: Record) -> Iterator[bytes]:
    try:
        with open(os.path.join(record.path, TELEMETRY), "rb", opener=_open_no_link) as file:
            yield from file
    except FileNotFoundError:
        return


def decode_line(line: bytes) -> dict[str, Any] | None:
    """The object that a line holds, None where it holds none."""
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class _UndecodedSample(StoredSample):
    """A sample as it stands in the file: few are merged, and only these are decoded."""

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
    """The samples in tiers: the newest as they are, each tier before them merged once more."""
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
    """Neighbours merged until each weighs that much; what already does stays as it is."""
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
    """Two samples as one, at the time of the later."""
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
    """All numbers of a thing; a sample before it got its last ones has none of these."""
    row: Row = (sample.get(edge) or sample["rows"]).get(of, [])
    return row[:length] + [None] * (length - len(row))


def _take_last(_first: float, second: float) -> float:
    return second


def _round_value(value: float) -> float:
    """Six digits are more than any sensor has, and half as long on the disk; counters are whole."""
    return value if isinstance(value, int) else float(f"{value:.6g}")


def _encode(line: Mapping[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=str)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW)
