"""Fixture that checks that two trainings never overlap."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.guardian.faces import Observer
from tests.supervised import Lab


@pytest.fixture
def never_two(lab: Lab) -> Iterator[Observer]:
    """Fail the test if two runs of its lab had live processes at the same time."""
    observer = Observer(lab.mark)
    observer.start()
    yield observer
    observer.end()
    assert not observer.overlaps
