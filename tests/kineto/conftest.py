"""A short temporary directory: that of a test is too long for a socket."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.supervised import Lab


@pytest.fixture
def sockets(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The temporary directory of the runs of a test, removed with it."""
    path = Path(tempfile.mkdtemp(prefix="k", dir="/tmp"))
    monkeypatch.setenv("TMPDIR", str(path))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    yield path
    lab.end_everything()
    shutil.rmtree(path)
