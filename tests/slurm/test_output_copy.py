"""Output files of a job are copied as they are, however they grow."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.slurm.submissions.output_copy import OutputCopy
from gpualert_common.slurm.users import may_copy

OWN = os.geteuid()


@pytest.fixture
def target() -> Iterator[int]:
    """A descriptor of an empty file."""
    with tempfile.TemporaryFile() as file:
        yield file.fileno()


def test_file_that_appears_late(tmp_path: Path, target: int) -> None:
    """A missing file is no problem, and its bytes are copied once, as they are."""
    path = tmp_path / "out"
    copy = OutputCopy(str(path), target, OWN)
    assert copy.copy() == 0
    assert not copy.is_found
    path.write_bytes(b"a\0\xff\n\r b")
    assert copy.copy() == 7
    with path.open("ab") as file:
        file.write(b"c\n")
    assert copy.copy() == 2
    assert copy.copy() == 0
    assert _content(target) == b"a\0\xff\n\r bc\n"
    assert copy.problem == ""


@pytest.mark.parametrize("is_new", [True, False], ids=["replaced", "truncated"])
def test_file_that_begins_anew(tmp_path: Path, target: int, is_new: bool) -> None:
    """A file that a requeued job truncates or replaces is copied from its start."""
    path = tmp_path / "out"
    path.write_bytes(b"first start\n")
    copy = OutputCopy(str(path), target, OWN)
    copy.copy()
    if is_new:
        other = tmp_path / "new"
        other.write_bytes(b"second start, longer\n")
        other.rename(path)
    else:
        path.write_bytes(b"second\n")
    copy.copy()
    assert _content(target).startswith(b"first start\nsecond")


def test_lines_of_several_files_are_whole(tmp_path: Path, target: int) -> None:
    """A line without an end waits for it, and for the last copy."""
    one, other = tmp_path / "one", tmp_path / "other"
    copies = [OutputCopy(str(path), target, OWN, by_lines=True) for path in (one, other)]
    one.write_bytes(b"one begins")
    other.write_bytes(b"other\nrest")
    for copy in copies:
        copy.copy()
    one.write_bytes(b"one begins and ends\n")
    for copy in copies:
        copy.copy()
        copy.copy(is_last=True)
    assert _content(target) == b"other\none begins and ends\nrest"


def test_long_line_is_copied_in_pieces(tmp_path: Path, target: int) -> None:
    """Memory is bounded: of a line of three megabytes the begin does not wait for the end."""
    path = tmp_path / "out"
    path.write_bytes(b"x" * (3 << 20))
    copy = OutputCopy(str(path), target, OWN, by_lines=True)
    copy.copy()
    copy.copy(is_last=True)
    assert len(_content(target)) == 3 << 20


def test_hostile_files(tmp_path: Path, target: int) -> None:
    """A named pipe, a folder and an unreadable file are named as problems, without a wait."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        copy = OutputCopy(str(tmp_path / name), target, OWN)
        copy.copy()
        assert copy.problem, name
    null = OutputCopy(os.devnull, target, OWN)
    assert null.copy() == 0
    assert null.problem == ""


def test_full_target_loses_nothing(tmp_path: Path) -> None:
    """The bytes that a full disk does not take are copied once there is room."""
    path = tmp_path / "out"
    path.write_bytes(b"x" * 200_000)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    copy = OutputCopy(str(path), writer, OWN)
    with pytest.raises(OSError, match="unavailable"):
        copy.copy()
    first = os.read(reader, 1 << 20)
    with pytest.raises(OSError, match="unavailable"):
        copy.copy()
    second = os.read(reader, 1 << 20)
    assert 0 < len(first) + len(second) <= 200_000
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("owner", [OWN, OWN + 1])
def test_job_of_another_user_cannot_name_our_files(tmp_path: Path, target: int, owner: int) -> None:
    """An output of another user's job that does not belong to that user is not copied."""
    path = tmp_path / "output.log"
    path.write_text("secret")
    copy = OutputCopy(str(path), target, owner)
    copy.copy()
    assert _content(target) == (b"secret" if owner == OWN else b"")
    assert bool(copy.problem) is (owner != OWN)
    assert may_copy(owner, owner)
    assert not may_copy(OWN, None)


def _content(fd: int) -> bytes:
    return os.pread(fd, 10 << 20, 0)
