"""A file system in user space whose daemon is stopped: wait, mount and daemon are named."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.stacks.collection import DumpOptions, take_dump
from gpualert_common.stacks.dump import Dump
from gpualert_common.stacks.reasons import HangReason, explain_hang
from tests.faults.conftest import mount_fuse
from tests.supervised import python, until

pytestmark = pytest.mark.e2e

_USES = {
    "read": "file.seek(1 << 22); file.read(1)",
    "mapping": "memory[1 << 23]",
    "open": "open(path)",
    "status": "os.stat(path)",
    "relative": "os.chdir('/'); os.path.exists(path[1:])",
    "directory": "os.stat('file', dir_fd=directory)",
}
"""Uses of a file by which a program waits for the daemon."""
_PROGRAM = """
import mmap, os, sys
path = sys.argv[1]
file = open(path, "rb", buffering=0)
memory = path.endswith("file") and mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
directory = os.open(os.path.dirname(path), os.O_RDONLY)
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The daemon of a file system on ``tmp_path``/mount."""
    with mount_fuse(tmp_path / "mount") as process:
        yield process


def take_while_waiting(path: Path, daemon: subprocess.Popen[bytes], use: str) -> Dump:
    """Return the stacks of a program that uses the file while the daemon is stopped.

    Although they may be paused, processes that wait for a disk are not: they would not stop.
    """
    command = (*python(_PROGRAM + use), str(path))
    user = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert user.stdin is not None
    assert user.stdout is not None
    try:
        assert user.stdout.readline() == b"ready\n"
        daemon.send_signal(signal.SIGSTOP)
        user.stdin.write(b"\n")
        user.stdin.flush()

        def find_wait() -> bool:
            dump = take_dump(SampledTree(user.pid, "GPUALERT_MARK_none"), DumpOptions("test"))
            found = explain_hang(dump)
            return found is not None and found.reason is HangReason.DISK

        until(find_wait, "the wait for the daemon")
        return take_dump(
            SampledTree(user.pid, "GPUALERT_MARK_none"), DumpOptions("test", is_pausing=True)
        )
    finally:
        os.kill(daemon.pid, signal.SIGCONT)
        user.communicate()


@pytest.mark.parametrize("use", _USES)
def test_stopped_daemon(tmp_path: Path, daemon: subprocess.Popen[bytes], use: str) -> None:
    """The wait names the file, the type of the file system, its mount and its stopped daemon."""
    point = tmp_path / "mount"
    found = explain_hang(take_while_waiting(point / "file", daemon, _USES[use]))
    assert found is not None
    assert str(point if use == "mapping" else point / "file") in found.text
    assert (
        f"(fuse.example, server:/data at {point}, served by process {daemon.pid} (python), which "
        "is stopped by a signal)"
    ) in found.text
    assert found.place == "<string>:9"


def test_block_device(tmp_path: Path, daemon: subprocess.Popen[bytes]) -> None:
    """A read from a disk that does not answer is in state D, and names the disk."""
    file = tmp_path / "mount" / "file"
    made = subprocess.run(
        ["losetup", "--find", "--show", str(file)], capture_output=True, text=True
    )
    device = made.stdout.strip()
    assert device, made.stderr
    try:
        use = "os.pread(file.fileno(), 4096, 1 << 23)"
        dump = take_while_waiting(Path(device), daemon, use)
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)
    wait = dump.processes[0].main.wait
    assert wait.is_uninterruptible
    assert wait.text.startswith(f"waits for the disk {device}")
