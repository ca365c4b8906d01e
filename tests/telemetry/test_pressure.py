"""Tests of the source ``pressure``, for the host and the run's cgroup."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from gpualert_common.processes import mounts
from gpualert_common.telemetry import cgroups
from gpualert_common.telemetry.source import SourceUnavailableError
from gpualert_common.telemetry.sources import pressure
from tests.telemetry import host
from tests.telemetry.host import sample

NAMES = {
    f"{resource}_{kind}_{unit}"
    for resource in ("cpu", "memory", "io")
    for kind in ("some", "full")
    for unit in ("percent", "seconds_total")
}


def write(directory: Path, end: str = "", **lines: str) -> Path:
    """Write the pressure files of a folder."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, line in lines.items():
        (directory / f"{name}{end}").write_text(line)
    return directory


SOME = "some avg10=12.50 avg60=1.00 avg300=0.10 total=2500000\n"
FULL = "full avg10=3.75 avg60=0.00 avg300=0.00 total=1250000\n"


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host whose pressure files the test writes."""
    place = write(tmp_path / "pressure", cpu=SOME, memory=SOME + FULL, io=FULL)
    monkeypatch.setattr(pressure, "HOST", str(place))
    return place


def test_numbers_and_their_units(played: Path) -> None:
    """Shares are in percent, totals in seconds; missing values are left out."""
    values = sample(host.opened("pressure")).samples["host"]
    assert values == {
        "cpu_some_percent": 12.5,
        "cpu_some_seconds_total": 2.5,
        "memory_some_percent": 12.5,
        "memory_some_seconds_total": 2.5,
        "memory_full_percent": 3.75,
        "memory_full_seconds_total": 1.25,
        "io_full_percent": 3.75,
        "io_full_seconds_total": 1.25,
    }


def test_the_group_of_the_run(
    played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With cgroups of version 2 the leader's group is sampled until it is removed."""
    (tmp_path / "mountinfo").write_text(f"9 1 0:2 / {tmp_path} rw - cgroup2 cgroup2 rw\n")
    (tmp_path / "membership").write_text("0::/job\n")
    monkeypatch.setattr(mounts, "MOUNTS", str(tmp_path / "mountinfo"))
    monkeypatch.setattr(cgroups, "MEMBERSHIP", str(tmp_path / "membership"))
    group = write(tmp_path / "job", ".pressure", memory=SOME + FULL)
    source = host.opened("pressure")
    samples = sample(source).samples
    assert samples["cgroup"]["memory_full_seconds_total"] == 1.25
    assert "cpu_some_percent" not in samples["cgroup"]
    (group / "memory.pressure").unlink()
    assert set(sample(source).samples) == {"host"}


def test_a_kernel_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without these files the source is unavailable, with a remedy."""
    monkeypatch.setattr(pressure, "HOST", str(tmp_path / "none"))
    with pytest.raises(SourceUnavailableError) as caught:
        host.opened("pressure")
    assert os.strerror(errno.ENOENT) in caught.value.why
    assert "psi=1" in caught.value.remedy


@pytest.mark.e2e
def test_this_machine() -> None:
    """A kernel with pressure information gives all values, each in its range."""
    source = host.opened("pressure")
    first, second = sample(source).samples["host"], sample(source).samples["host"]
    assert set(first) >= NAMES - {"cpu_full_percent", "cpu_full_seconds_total"}
    assert all(0 <= first[name] <= 100 for name in first if name.endswith("_percent"))
    assert all(second[name] >= first[name] for name in first if name.endswith("_total"))
