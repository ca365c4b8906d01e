"""Tests of the telemetry file: bounded, and without loss of extremes."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualert_common.record import Record
from gpualert_common.telemetry import storage
from gpualert_common.telemetry.series import Series, Telemetry
from gpualert_common.telemetry.source import PERIOD_S, Sample, SourceEvent
from gpualert_common.telemetry.storage import DENSE_SAMPLES, TIER_SAMPLES, TelemetryWriter

DAYS_30 = 30 * 86400


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """An empty record."""
    return Record.create(str(tmp_path / "run"), sync=False)


def read(record: Record) -> Telemetry:
    """Return the telemetry of the record."""
    found = Telemetry()
    found.read(record)
    return found


def gpu(**values: float) -> tuple[str, Sample]:
    """Return the output of one source for one GPU."""
    return "nvml", Sample("gpu:0", values)


def number(sample: storage.StoredSample, index: int, edge: str) -> float | None:
    """Return a number of GPU 0 in a sample: its value, ``low`` or ``high``."""
    row = (sample.get(edge) or sample["rows"])["gpu:0"]
    return row[index] if index < len(row) else None


def test_numbers_come_back(record: Record) -> None:
    """Each number is a series over time; a number that is added later starts later."""
    writer = TelemetryWriter(record)
    writer.add(10.0, [gpu(power_w=100.0), ("disk", Sample("disk:log", {"free_bytes": 7}))])
    writer.add(15.0, [gpu(power_w=200.0, ecc_total=3)])
    found = read(record)
    assert list(found.series("gpu:0", "power_w").at) == [10.0, 15.0]
    assert list(found.series("gpu:0", "power_w").value) == [100.0, 200.0]
    assert list(found.series("gpu:0", "ecc_total").at) == [15.0]
    assert found.series("disk:log", "free_bytes").last == 7
    assert not found.series("gpu:1", "power_w")
    assert found.list_entities("gpu") == ["gpu:0"]


def test_several_sources_of_one_thing(record: Record) -> None:
    """Two samples of one entity at one time become one row."""
    writer = TelemetryWriter(record)
    writer.add(1.0, [gpu(a=1), gpu(b=2)])
    found = read(record)
    assert (found.series("gpu:0", "a").last, found.series("gpu:0", "b").last) == (1, 2)


def test_events_and_sources_come_back(record: Record) -> None:
    """Events and sources are read with their fields and their own times."""
    writer = TelemetryWriter(record)
    writer.add_source("nvml", available=True, facts={"driver": "999.1"})
    writer.add_source("kernel_log", available=False, why="no right", remedy="be root")
    writer.add(5.0, [("nvml", SourceEvent("xid", "gpu:3", "Xid 79", {"xid": 79}, at=4.5))])
    writer.add(9.0, [("nvml", SourceEvent("gpu_lost", "gpu:3", "lost"))])
    found = read(record)
    assert found.sources["nvml"].facts == {"driver": "999.1"}
    assert (found.sources["kernel_log"].available, found.sources["kernel_log"].remedy) == (
        False,
        "be root",
    )
    (xid,) = found.find_events("xid")
    assert (xid.at, xid.of, xid.fields["xid"], xid.source) == (4.5, "gpu:3", 79, "nvml")
    assert [one.at for one in found.find_events("gpu_lost", "xid")] == [4.5, 9.0]


def test_second_read_continues(record: Record) -> None:
    """A second read adds new lines; an incomplete line is left for the next read."""
    writer = TelemetryWriter(record)
    writer.add(1.0, [gpu(x=1)])
    found = read(record)
    with open(Path(record.path) / storage.TELEMETRY, "ab") as file:
        file.write(b'{"at":2,"n":1,"rows":{"gpu:0"')
        file.flush()
        found.read(record)
        assert list(found.series("gpu:0", "x").value) == [1]
        file.write(b":[2]}}\n")
    found.read(record)
    assert list(found.series("gpu:0", "x").value) == [1, 2]


def test_lines_that_are_no_telemetry(record: Record) -> None:
    """Foreign, later and empty lines are skipped."""
    path = Path(record.path) / storage.TELEMETRY
    path.write_bytes(
        b'\xff\x00\n[1]\n{"rows":5}\n{"at":"x","rows":{}}\n{"source":{"new":1}}\n{"event":{}}\n'
        b'{"columns":{"gpu:0":["x"]}}\n{"at":1,"n":1,"rows":{"gpu:0":[4]}}\n'
        b'{"at":2,"n":1,"rows":{"gpu:0":["?"]}}\n{"at":3,"n":1e999,"rows":{"gpu:0":[5]}}\n'
    )
    found = read(record).series("gpu:0", "x")
    assert (list(found.at), list(found.value), list(found.high)) == ([1], [4], [4])


def test_a_run_without_telemetry(record: Record) -> None:
    """A run without a telemetry file has no telemetry."""
    found = read(record)
    assert (found.sources, found.events, found.sample_count) == ({}, [], 0)


def test_numbers_that_are_not_finite(record: Record) -> None:
    """Numbers that are not finite are dropped."""
    TelemetryWriter(record).add(1.0, [gpu(x=math.nan, y=math.inf, z=1)])
    found = read(record)
    assert not found.series("gpu:0", "x")
    assert found.series("gpu:0", "z").last == 1


def test_long_runs_are_bounded(record: Record) -> None:
    """The file stays small, the newest hour is complete, and no extreme and no count is lost."""
    writer = TelemetryWriter(record)
    samples = 20_000
    for sample in range(samples):
        watts = {12_345: 900.0, 4_321: 5.0}.get(sample, 300.0 + sample % 7)
        writer.add(sample * PERIOD_S, [gpu(power_w=watts, ecc_total=sample // 1000)])
    tiers = math.ceil(math.log2(samples / TIER_SAMPLES)) + 1
    lines = (Path(record.path) / storage.TELEMETRY).read_bytes().count(b"\n")
    assert lines < DENSE_SAMPLES + TIER_SAMPLES * (tiers + 1)
    found = read(record)
    power = found.series("gpu:0", "power_w")
    assert found.sample_count == samples
    assert (power.peak, power.least) == (900.0, 5.0)
    assert list(power.at)[-DENSE_SAMPLES:] == [
        (samples - DENSE_SAMPLES + n) * PERIOD_S for n in range(DENSE_SAMPLES)
    ]
    assert found.series("gpu:0", "ecc_total").rise == samples // 1000 - 1
    assert list(power.at) == sorted(power.at)


@pytest.mark.e2e
def test_a_month_is_bounded(record: Record) -> None:
    """After 30 days of samples the file is small, and each day's peak is kept."""
    writer = TelemetryWriter(record)
    samples, a_day = int(DAYS_30 / PERIOD_S), int(86_400 / PERIOD_S)
    for sample in range(samples):
        day, moment = divmod(sample, a_day)
        watts = 500.0 + day if moment == 1234 else 300.0 + sample % 7
        writer.add(sample * PERIOD_S, [gpu(power_w=watts, ecc_total=sample // 1000)])
    assert (Path(record.path) / storage.TELEMETRY).stat().st_size < 500_000
    found = read(record)
    power = found.series("gpu:0", "power_w")
    assert found.sample_count == samples
    assert {500.0 + day for day in range(30)} <= set(power.high)
    errors = found.series("gpu:0", "ecc_total")
    assert (errors.least, errors.last) == (0, (samples - 1) // 1000)


def test_torn_lines_are_thinned_too(record: Record) -> None:
    """A truncated line, from a full disk, loses only itself."""
    writer = TelemetryWriter(record)
    for sample in range(4 * DENSE_SAMPLES):
        writer.add(sample * PERIOD_S, [gpu(x=sample)])
        if sample % 50 == 0:
            with open(Path(record.path) / storage.TELEMETRY, "ab") as file:
                file.write(b'{"at":%d,"n":1,"rows":{"gpu:0"' % sample)
    writer.compact()
    found = read(record)
    assert found.series("gpu:0", "x").peak == 4 * DENSE_SAMPLES - 1
    assert (
        found.series("gpu:0", "x").rise
        == 4 * DENSE_SAMPLES - 1 - found.series("gpu:0", "x").value[0]
    )


@given(st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), max_size=120))
@settings(max_examples=50, deadline=None)
def test_thinning_loses_no_extreme(values: list[float | None]) -> None:
    """Merging keeps the extremes, the last value and the number of samples."""
    samples: list[storage.StoredSample] = [
        {"at": float(n), "n": 1, "rows": {"gpu:0": [value, n]}} for n, value in enumerate(values)
    ]
    columns = {"gpu:0": ["gauge", "counter_total"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "DENSE_SAMPLES", 8)
        patch.setattr(storage, "TIER_SAMPLES", 4)
        thin = storage.merge_old_samples(samples, columns)
    assert sum(sample["n"] for sample in thin) == len(samples)
    assert len(thin) <= 8 + 4 * 6
    known = [value for value in values if value is not None]
    for edge, choose in (("low", min), ("high", max)):
        kept = [number(sample, 0, edge) for sample in thin]
        found = choose((value for value in kept if value is not None), default=None)
        assert found == choose(known, default=None)
    if samples:
        assert number(thin[-1], 1, "rows") == len(samples) - 1
    assert [sample["at"] for sample in thin] == sorted(sample["at"] for sample in thin)


def test_second_writer_continues(record: Record) -> None:
    """A second writer keeps the order of the columns."""
    TelemetryWriter(record).add(1.0, [gpu(a=1, b=2)])
    TelemetryWriter(record).add(2.0, [gpu(b=3)])
    found = read(record)
    assert list(found.series("gpu:0", "b").value) == [2, 3]
    assert list(found.series("gpu:0", "a").value) == [1]


def test_rise_of_a_counter() -> None:
    """A counter that restarts, after a reset of its GPU, counts from zero."""
    values = [5.0, 7.0, 1.0, 2.0]
    assert Series([1, 2, 3, 4], values, values, values).rise == 4.0
