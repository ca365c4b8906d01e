"""Tests of the source ``disk``: space, read-only states, and file systems that do not answer."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.processes import mounts
from gpualert_common.processes.mounts import find_mount
from gpualert_common.telemetry.source import Source
from gpualert_common.telemetry.sources import disk
from gpualert_common.telemetry.sources.disk import compute_low_threshold
from tests.supervised import Lab, python, until
from tests.telemetry import host
from tests.telemetry.host import sample

root = pytest.mark.e2e

MIB = 1 << 20
GIB = 1 << 30


def opened(place: Path) -> Source:
    """Return the source for a run with this log and this working directory."""
    return host.opened("disk", logs=(str(place / "output.log"),))


def test_each_role_has_its_numbers(lab: Lab) -> None:
    """Log, working directory, TMPDIR and shared memory have the numbers of statvfs."""
    child = lab.start(
        python("import sys; sys.stdin.read()"),
        stdin=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(lab.home / "tmp")},
        cwd=lab.home,
    )
    until(lambda: os.readlink(f"/proc/{child.pid}/cwd") == str(lab.home), "it to be there")
    source = host.opened("disk", child.pid, logs=(str(lab.home / "a.log"),), cwd="/nowhere")
    samples = sample(source).samples
    assert set(samples) == {"disk:log", "disk:cwd", "disk:tmp", "disk:shm"}
    numbers = os.statvfs(lab.home)
    values = samples["disk:log"]
    assert values["size_bytes"] == numbers.f_blocks * numbers.f_frsize
    assert values["free_bytes"] == pytest.approx(numbers.f_bavail * numbers.f_frsize, rel=0.2)
    assert values["read_only"] == values["stalled"] == 0
    assert source.facts["disk:cwd"]["path"] == str(lab.home)
    assert source.facts["disk:tmp"]["path"] == str(lab.home / "tmp")
    assert source.facts["disk:shm"]["mounted_at"] == "/dev/shm"


def test_a_directory_that_is_gone(tmp_path: Path) -> None:
    """A removed directory has no numbers and does not affect the others."""
    place = tmp_path / "logs"
    place.mkdir()
    source = opened(place)
    assert "disk:log" in sample(source).samples
    place.rmdir()
    for _sample in range(2):
        samples = sample(source).samples
    assert "disk:log" not in samples
    assert "disk:shm" in samples


@pytest.mark.parametrize(
    ("size", "below"),
    [(64 * MIB, 6.4 * MIB), (10 * GIB, GIB), (50 * GIB, GIB), (1000 * GIB, 10 * GIB), (0, 0)],
)
def test_threshold_of_low_space(size: int, below: float) -> None:
    """The threshold is 1 % or 1 GiB, and a tenth of a small file system."""
    assert compute_low_threshold(size) == pytest.approx(below)


def test_a_disk_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that hangs is reported once, delays no other, and is reported when it answers
    again."""
    answer, real = threading.Event(), os.statvfs

    def slow(path: str) -> os.statvfs_result:
        if path == str(tmp_path):
            answer.wait()
        return real(path)

    monkeypatch.setattr(os, "statvfs", slow)  # simulates a server that does not answer
    source = opened(tmp_path)
    assert sample(source).events == []  # it may be slow
    output = sample(source)
    assert output.samples["disk:log"] == {"stalled": 1}
    assert output.samples["disk:shm"]["stalled"] == 0
    assert [(event.what, event.of) for event in output.events] == [("disk_stalled", "disk:log")]
    assert sample(source).events == []
    answer.set()

    def find_answer() -> host.SourceOutput | None:
        found = sample(source)
        return found if found.events else None

    output = until(find_answer, "the answer to come")
    assert [event.what for event in output.events] == ["disk_answers"]
    assert output.samples["disk:log"]["size_bytes"] > 0


def test_mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The innermost mount counts, and the later one of two at the same point."""
    lines = (
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
        "2 1 0:9 / /data rw shared:1 - nfs4 filer:/data rw",
        "3 1 0:8 / /data\\040set rw - lustre 10.0.0.1@tcp:/work rw",
        "4 2 8:2 / /data/scratch rw - ext4 /dev/sdb1 rw",
        "5 4 8:3 / /data/scratch rw - xfs /dev/sdc1 rw",
        "broken",
        "6 4 - ",
    )
    (tmp_path / "mountinfo").write_text("\n".join(lines))
    monkeypatch.setattr(mounts, "MOUNTS", str(tmp_path / "mountinfo"))
    assert find_mount("/database")["type"] == "ext4"
    assert find_mount("/data/x") == {"type": "nfs4", "device": "filer:/data", "mounted_at": "/data"}
    assert find_mount("/data set")["type"] == "lustre"
    assert find_mount("/data/scratch")["device"] == "/dev/sdc1"
    monkeypatch.setattr(mounts, "MOUNTS", str(tmp_path / "none"))
    assert find_mount("/") == {}


def test_a_disk_that_answers_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the file system is reported once; a removed directory is not an error."""
    real = os.statvfs

    def stale(path: str) -> os.statvfs_result:
        if path == str(tmp_path):
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return real(path)

    source = opened(tmp_path)
    monkeypatch.setattr(os, "statvfs", stale)  # simulates a server with a stale handle
    (event,) = sample(source).events
    assert (event.what, event.of) == ("disk_error", "disk:log")
    assert os.strerror(errno.ESTALE) in event.text
    assert sample(source).events == []


# -- real file systems, for root ---------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB and 100 inodes."""
    place = tmp_path / "small"
    place.mkdir()
    options = "size=8m,nr_inodes=1000"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


def log_events(source: Source) -> list[str]:
    """Return the events of the log's file system."""
    return [event.what for event in sample(source).events if event.of == "disk:log"]


@root
def test_a_disk_that_fills_up(small: Path) -> None:
    """Low space is reported once, and again after space was free in between."""
    source = opened(small)
    assert log_events(source) == []
    filler = small / "filler"
    for _time in range(2):
        filler.write_bytes(b"x" * (7 * MIB + 512 * 1024))
        assert log_events(source) == ["disk_low"]
        assert log_events(source) == []
        filler.unlink()
        assert log_events(source) == []


@root
def test_a_disk_without_inodes(small: Path) -> None:
    """A disk with space but without inodes is low, too."""
    source = opened(small)
    for number in range(995):
        (small / str(number)).touch()
    assert log_events(source) == ["disk_low"]
    assert sample(source).samples["disk:log"]["inodes_free"] < 10


@root
def test_a_disk_that_turns_read_only(small: Path) -> None:
    """Becoming read-only is an event; being read-only from the start is not."""
    source = opened(small)
    assert log_events(source) == []
    subprocess.run(["mount", "-o", "remount,ro", small], check=True)
    assert log_events(source) == ["disk_read_only"]
    assert sample(source).samples["disk:log"]["read_only"] == 1
    assert log_events(opened(small)) == []


def test_a_query_without_an_answer_does_not_keep_the_process() -> None:
    """A query without an answer does not keep the process alive."""
    code = (
        "import os, time\n"
        "os.statvfs = lambda path: time.sleep(1000)\n"
        "from tests.telemetry import host\n"
        "source = host.opened('disk')\n"
        "print([host.sample(source).samples for number in range(2)])"
    )
    repository = Path(disk.__file__).parents[3]
    done = subprocess.run(python(code), cwd=repository, capture_output=True, timeout=60)
    assert done.returncode == 0
    assert b"stalled': 1" in done.stdout
