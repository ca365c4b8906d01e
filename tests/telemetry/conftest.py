"""Fixtures of the tests of sources.

The tests of NVML use a stand-in for its library.  On a machine with GPUs, GPUALERT_REAL_NVML=1 uses
the driver instead; then the tests marked ``standin`` are deselected.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.telemetry.standin import Clock, Gpu, Scenario, environment, gpu
from tests.telemetry.standin.watch import Watch

REAL = os.environ.get("GPUALERT_REAL_NVML") == "1"

Watcher = Callable[..., Watch]
Player = Callable[..., Watch]


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", "standin: scripts what no real GPU does on demand")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that a real driver cannot run, if one is used."""
    if REAL:
        left_out = [item for item in items if item.get_closest_marker("standin")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture
def watch() -> Iterator[Watcher]:
    """Open sources in separate processes (:class:`Watch`); all are killed afterwards."""
    watches: list[Watch] = []

    def start(source: str, variables: Mapping[str, str], before: str = "") -> Watch:
        watches.append(Watch(source, variables, before))
        return watches[-1]

    yield start
    for one in watches:
        one.kill()


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """Variables of a machine with GPUs: the real one, or a stand-in with two."""
    if REAL:
        return {}
    return environment(Scenario((gpu(0), gpu(1))), tmp_path / "machine")


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    """A clock at second 0."""
    return Clock(tmp_path)


@pytest.fixture
def play(watch: Watcher, tmp_path: Path, clock: Clock) -> Player:
    """Open NVML on a stand-in machine with these GPUs; ``more`` are arguments of its scenario."""

    def start(*gpus: Gpu, before: str = "", hidden: tuple[str, ...] = (), **more: Any) -> Watch:
        scenario = Scenario(gpus, **{"clock": clock.path, **more})
        return watch("nvml", environment(scenario, tmp_path / "machine", hidden), before)

    return start
