"""``gpualert classify`` of hostile logs: endless lines, and files that grow meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from gpualert_common.log_files.file_start import FileStart

LINE = b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
MIB = 1 << 20
MOST_GROWTH_MIB = 48
"""Memory for a log of any size; a line that was kept whole would take a thousand."""


def blocks(size_mib: int) -> Iterator[bytes]:
    """Yield one line of that size, then a failure."""
    block = b"loss 0.3 " * (MIB // 9)
    for _ in range(size_mib):
        yield block
    yield b"\n" + LINE


def sparse(path: Path, size: int) -> Path:
    """Return a file of one line of zero bytes, then a failure."""
    with path.open("wb") as file:
        file.write(b"step 1 ")
        file.truncate(size)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + LINE)
    return path


def classify(log: str | Path, stdin: Iterable[bytes] = ()) -> tuple[dict[str, Any], float]:
    """Return the verdict on a log and the peak memory of the command, in MiB."""
    arguments = [sys.executable, "-m", "gpualert_common", "classify", "--json", "--exit-code", "1"]
    process = subprocess.Popen(
        [*arguments, log], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    pipe, out = process.stdin, process.stdout
    assert pipe is not None
    assert out is not None
    for block in stdin:
        _write_all(pipe, block)
    pipe.close()
    verdict = json.loads(out.read())
    out.close()
    _pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return verdict, usage.ru_maxrss / 1024


def _write_all(pipe: IO[bytes], block: bytes) -> None:
    view = memoryview(block)
    while view:
        view = view[pipe.write(view) :]


@pytest.mark.e2e
@pytest.mark.parametrize("is_sparse", [False, True], ids=["text", "zero bytes"])
def test_a_line_of_a_gigabyte(tmp_path: Path, is_sparse: bool) -> None:
    """A line of 1 GiB takes no more memory than one of 1 MiB, and hides no failure behind it."""

    def read(size_mib: int) -> tuple[dict[str, Any], float]:
        if is_sparse:
            return classify(sparse(tmp_path / "log", size_mib * MIB))
        return classify("-", blocks(size_mib))

    _verdict, least_mib = read(1)
    verdict, peak_mib = read(1024)
    assert verdict["cause"] == "cuda_oom"
    assert peak_mib < least_mib + MOST_GROWTH_MIB


def test_start_of_a_growing_file(tmp_path: Path) -> None:
    """The start of a file is its first bytes, however fast it grows."""
    path = tmp_path / "log"
    path.write_bytes(b"step 1\n" + LINE)
    with path.open("rb", buffering=0) as file, path.open("ab", buffering=0) as writer:
        start = FileStart(file, path.stat().st_size)
        parts = []
        while data := start.read(5):
            parts.append(data)
            writer.write(b"step 9 loss 0.3\n")
    assert b"".join(parts) == b"step 1\n" + LINE


def test_log_that_grows(tmp_path: Path) -> None:
    """A log that grows while it is classified is read up to one end, and the verdict says so."""
    path = tmp_path / "train.log"
    path.write_bytes(b"step 1 loss 0.3\n" * 100_000 + LINE)
    size = path.stat().st_size
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert writer.stdout is not None
    try:
        writer.stdout.readline()
        verdict, _peak = classify(path)
    finally:
        writer.kill()
        writer.communicate()
    (source,) = (one for one in verdict["sources"] if one["name"] == "log")
    (warning,) = (one for one in verdict["warnings"] if one["kind"] == "growing")
    assert size < source["bytes_read"] < path.stat().st_size
    assert f"first {source['bytes_read']:,} bytes" in warning["text"]


_WRITER = """
import os, sys
log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
os.write(log, b"more\\n")
print("writing", flush=True)
while True:
    os.write(log, b"step 2 loss 0.3\\n")
"""
