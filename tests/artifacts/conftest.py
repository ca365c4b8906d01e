"""Fixtures for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.artifacts.workplace import Workplace


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workplace]:
    """A run that has ended, with an empty working directory."""
    made = Workplace(tmp_path)
    yield made
    made.record.close()
