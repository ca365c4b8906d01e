"""An isolated Prefect for tests: no settings of the user, no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect.settings import (
    PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
    PREFECT_LOCAL_STORAGE_PATH,
    temporary_settings,
)
from prefect.testing.utilities import prefect_test_harness

from tests.faults.prefect.deployment import place, standing
from tests.supervised import Lab

__all__ = ["place", "standing"]


def pytest_configure(config: pytest.Config) -> None:
    """Allow warnings of Prefect and its dependencies; warnings of our packages are errors."""
    config.addinivalue_line("filterwarnings", "default")
    for package in ("gpualert_common", "prefect_gpualert"):
        config.addinivalue_line("filterwarnings", rf"error:::{package}")


@pytest.fixture
def home(lab: Lab) -> Path:
    """Return a directory for runs in this process; nothing in it outlives the test."""
    return lab.home


@pytest.fixture(scope="session")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Start one ephemeral server with a directory for its results."""
    settings = {
        PREFECT_LOCAL_STORAGE_PATH: tmp_path_factory.mktemp("results"),
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,  # its end takes a second of each flow
    }
    with prefect_test_harness(server_startup_timeout=120), temporary_settings(settings):
        yield
