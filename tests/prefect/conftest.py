"""A place for Prefect that has nothing of the user's, and nothing of the network's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.flows import Flow
from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings
from prefect.testing.utilities import prefect_test_harness

from tests.observer import Observer
from tests.prefect import matrix, stage
from tests.prefect.flows import TRAINER
from tests.supervised import Lab, lab

__all__ = ["lab"]

FIGURES = stage.ROOT / ".bench" / "prefect-faults.json"


def pytest_configure(config: pytest.Config) -> None:
    """Prefect and what it stands on may warn: only our own packages may not."""
    config.addinivalue_line("filterwarnings", "default")
    for package in ("gpualert_common", "prefect_gpualert"):
        config.addinivalue_line("filterwarnings", rf"error:::{package}")


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[matrix.Place]:
    """A server with a pool and the two flows deployed, and an observer of every training."""
    home = tmp_path_factory.mktemp("prefect")
    observer = Observer(TRAINER)
    with (
        stage.server(home) as (url, _process),
        temporary_settings({PREFECT_API_URL: url, PREFECT_HOME: str(home / "prefect")}),
    ):
        with get_client(sync_client=True) as client:
            client.create_work_pool(WorkPoolCreate(name=stage.POOL, type="process"))
        for name in ("training", "atraining"):
            flow: Any = Flow.from_source(str(stage.FLOWS.parent), f"{stage.FLOWS.name}:{name}")
            flow.deploy(name, stage.POOL, print_next_steps=False, ignore_warnings=True)
        observer.start()
        try:
            yield matrix.Place(home, url, observer)
        finally:
            observer.end()


@pytest.fixture(scope="session")
def outcomes() -> Iterator[list[matrix.Outcome]]:
    """Collects what came of every fault, prints it as a table and stores it at the end."""
    found: list[matrix.Outcome] = []
    yield found
    if found:
        print(f"\n{matrix.table(found)}")
        matrix.store_outcomes(FIGURES, found)


@pytest.fixture
def home(lab: Lab) -> Path:
    """A place of its own for runs in this process, where nothing outlives the test."""
    return lab.home


@pytest.fixture(scope="module")
def harness() -> Iterator[None]:
    """One ephemeral server for the tests of a module."""
    with prefect_test_harness(server_startup_timeout=120):
        yield
