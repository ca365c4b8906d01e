"""Filesystems and control groups for tests, which root can fill, freeze and count safely."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.control_groups import find_hierarchy
from tests.supervised import PYTHON, Lab, until

SMALL_DISK_MIB = 8


def _command(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


def _unmount(path: Path) -> None:
    try:
        until(
            lambda: subprocess.run(["umount", path], capture_output=True).returncode == 0,
            f"{path} to be unmounted",
        )
    except AssertionError:
        # After a failed test files may be open, and pytest fails if it cannot remove a directory.
        _command("umount", "--lazy", str(path))
        raise


@pytest.fixture
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A tmpfs of 8 MiB."""
    path = tmp_path_factory.mktemp("small-disk")
    _command("mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_MIB}m,mode=700", "tmpfs", str(path))
    yield path
    _unmount(path)


@pytest.fixture
def real_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An ext4 filesystem of 64 MiB on a loop device, thawed at the end of any test."""
    path = tmp_path_factory.mktemp("real-disk")
    image = path.with_suffix(".image")
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    _command("mkfs.ext4", "-q", "-m", "0", str(image))
    _command("mount", "-o", "loop", str(image), str(path))
    yield path
    thaw(path)
    _unmount(path)
    image.unlink()


def freeze(path: Path) -> None:
    """Freeze the filesystem, so that every write waits."""
    _command("fsfreeze", "--freeze", str(path))


def thaw(path: Path) -> None:
    """Thaw the filesystem; one that is not frozen stays unchanged."""
    subprocess.run(["fsfreeze", "--unfreeze", path], capture_output=True)


def _state_on(disk: Path, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    lab.state = disk / "state"
    monkeypatch.setenv("GPUALERT_STATE_DIR", str(lab.state))
    return lab


@pytest.fixture
def on_small_disk(small_disk: Path, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A lab whose records are on the small disk."""
    return _state_on(small_disk, lab, monkeypatch)


@pytest.fixture
def on_real_disk(real_disk: Path, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """A lab whose records are on the disk that can be frozen."""
    yield _state_on(real_disk, lab, monkeypatch)
    thaw(real_disk)


class Fence:
    """A control group that its processes cannot leave, or none without cgroups."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def around(self, *command: str) -> tuple[str, ...]:
        """Return the command, run inside."""
        if self.path is None:
            return command
        return "sh", "-c", f'echo $$ > {self.path}/cgroup.procs; exec "$@"', "sh", *command

    def is_empty(self) -> bool:
        """True when no process is inside."""
        return self.path is None or not (self.path / "cgroup.procs").read_text()


@pytest.fixture
def fence() -> Iterator[Fence]:
    """A control group of this test."""
    place = find_hierarchy()
    made = None if place is None else place / f"gpualert-test-{os.getpid()}"
    if made is not None:
        made.mkdir()
    yield Fence(made)
    if made is not None:
        until(lambda: not (made / "cgroup.procs").read_text(), "the control group to be empty")
        made.rmdir()


@contextmanager
def mount_fuse(point: Path, size: int = 1 << 24) -> Iterator[subprocess.Popen[bytes]]:
    """Mount a file system with a file named "file"; yields its daemon.

    Uses of it wait while the daemon is stopped by SIGSTOP.
    """
    point.mkdir(parents=True)
    command = [PYTHON, str(Path(__file__).with_name("fuse_server.py")), str(point), str(size)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        _command("umount", "--lazy", str(point))
        process.kill()
        process.communicate()
