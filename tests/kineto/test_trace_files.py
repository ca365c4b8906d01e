"""Compression of what PyTorch has written, and of what only lies there."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.kineto import trace_files
from gpualert_common.kineto.trace_files import DiscardedFiles, compress_trace, find_shortage

TARGET = "rank-0.json.gz"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    """A descriptor of the folder that raw files lie in, and compressed ones go to."""
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def test_compression(tmp_path: Path, folder: int) -> None:
    """A file is compressed, for this user only, and removed."""
    text = b'{"traceEvents": [' + b"{},\n" * 700_000 + b"{}]} \n"
    (tmp_path / "raw.json").write_bytes(text)
    assert compress_trace(folder, "raw.json", folder, TARGET).trace_bytes == len(text)
    assert gzip.decompress((tmp_path / TARGET).read_bytes()) == text
    assert (tmp_path / TARGET).stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == [TARGET]


@pytest.mark.parametrize("text", [b"", b'{"traceEvents": [', b"\0" * 5000, b'{"a": 1} junk'])
def test_cut_file(tmp_path: Path, folder: int, text: bytes) -> None:
    """A file that ends early is not kept."""
    (tmp_path / "raw.json").write_bytes(text)
    assert "ends early" in compress_trace(folder, "raw.json", folder, TARGET).problem
    assert list(tmp_path.iterdir()) == []


def test_large_file(tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file beyond the limit is not kept."""
    monkeypatch.setattr(trace_files, "MOST_TRACE_BYTES", 1 << 20)
    (tmp_path / "raw.json").write_bytes(b" " * (1 << 21) + b"}")
    assert "it is larger than" in compress_trace(folder, "raw.json", folder, TARGET).problem
    assert list(tmp_path.iterdir()) == []


def test_other_kinds_of_files(tmp_path: Path, folder: int) -> None:
    """A link, a named pipe, a folder and a missing file are refused without waiting."""
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    discarded = DiscardedFiles()
    for name in ("link", "pipe", "folder", "missing"):
        assert "cannot be read" in compress_trace(folder, name, folder, TARGET).problem
        discarded.add(folder, name)
    assert discarded.free(0.0)
    discarded.close()
    assert (tmp_path / "secret").read_text() == "{}"
    assert not (tmp_path / TARGET).exists()


def test_discarded_file(tmp_path: Path, folder: int) -> None:
    """The space of a discarded file is freed as long as a process writes to it."""
    discarded = DiscardedFiles()
    with open(tmp_path / "raw.json.tmp", "wb", buffering=0) as file:
        file.write(b"x" * 100_000)
        discarded.add(folder, "raw.json.tmp")
        assert os.fstat(file.fileno()).st_nlink == 0
        for now in (0.0, 1.0):
            file.write(b"x" * 100_000)
            assert not discarded.free(now), "it may be written to again"
            assert os.fstat(file.fileno()).st_blocks == 0
        assert not discarded.free(11.0)
        assert discarded.free(11.1)
    discarded.close()


def test_shortage(folder: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are discarded beyond their limit, and where they leave too little of the disk."""
    monkeypatch.setattr(trace_files, "LEAST_FREE_BYTES", 0)
    assert find_shortage(folder, 16 << 30) == ""
    assert "larger than 16 GiB" in find_shortage(folder, (16 << 30) + 1)
    monkeypatch.setattr(trace_files, "LEAST_FREE_BYTES", 1 << 62)
    assert "of the disk were free" in find_shortage(folder, 1)
