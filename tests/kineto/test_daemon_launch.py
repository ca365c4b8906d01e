"""Preparation of the traces of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common.kineto.daemon_launch import TRACING, start_tracing
from gpualert_common.record import Record


@pytest.mark.parametrize("name", ["run#1", "step=1", "two\nlines", "two\rlines"])
def test_path_that_kineto_cannot_read(name: str, tmp_path: Path) -> None:
    """A run whose path means something else in a configuration is not traced, and says why."""
    record = Record.create(str(tmp_path / name), sync=False)
    environment: dict[bytes, bytes] = {b"TMPDIR": b"/tmp"}
    daemon = start_tracing(record, environment)
    if daemon is not None:
        daemon.close()
    assert environment == {b"TMPDIR": b"/tmp"}
    fields = record.read_json(TRACING)
    assert fields is not None
    assert fields["problem"].startswith("Kineto cannot read the path of the record, which has ")
    record.close()
