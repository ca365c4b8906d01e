"""Keys of tasks: any names of DAGs, flows and tasks make one folder below the state directory."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpualert_common.guardian.keys import KEYS, Key, write_pointer
from tests.supervised import Lab

HOSTILE = (
    ("airflow", "../../x", "run", "task", "-1"),
    ("airflow", "/etc/passwd", "", ".", ".."),
    ("prefect", "a\0b", "\n\x1b[31m", "x" * 5000, "\udcff"),
)


@pytest.mark.parametrize("key", HOSTILE)
def test_hostile_names(tmp_path: Path, key: tuple[str, ...]) -> None:
    """A name reaches the disk as a hash only, in the folder of keys; another key has another."""
    state = tmp_path / "state"
    one, other = Key(key, str(state)), Key((*key, ""), str(state))
    one.take()
    other.take()
    try:
        assert one.path != other.path
        write_pointer(one.path, "record")
        assert (one.runs(), other.runs()) == (["record"], [])
    finally:
        one.release()
        other.release()
    assert sorted(os.listdir(tmp_path)) == ["state"]
    assert {path.parent for path in map(Path, (one.path, other.path))} == {state / KEYS}


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    """Make the opening of any file an error."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    next_fd = os.dup(0)
    os.close(next_fd)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next_fd, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_error_that_may_pass(lab: Lab) -> None:
    """If the pointer cannot be read now, this is an error: the run that it names may live."""
    key = Key(("task",), str(lab.state))
    key.take()
    write_pointer(key.path, "/the/run")
    with no_descriptor_left(), pytest.raises(OSError, match="Too many open files"):
        key.runs()
    assert key.runs() == ["/the/run"]
    key.release()


def test_place_that_is_missing(lab: Lab) -> None:
    """A place that does not exist, or cannot be one, names no run."""
    assert Key(("task",), str(lab.home / "missing")).runs() == []
    lab.script("file", "")
    assert Key(("task",), str(lab.home / "file")).runs() == []
