"""Tests of the source ``memory``: memory left on the host and below the limits of cgroups."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gpualert_common.telemetry.source import SourceUnavailableError
from gpualert_common.telemetry.sources import memory
from tests.supervised import python
from tests.telemetry import host
from tests.telemetry.host import sample
from tests.telemetry.test_cgroup import MIB, Tree, memory_v2, tree, write

__all__ = ["tree"]


def stat(inactive: int, active: int, shared: int = 0, prefix: str = "") -> dict[str, object]:
    """Return the content of a group's ``memory.stat``, from values in MiB."""
    lines = (
        f"anon 1\nfile {(inactive + active + shared) * MIB}\nshmem {shared * MIB}",
        f"{prefix}inactive_file {inactive * MIB}\n{prefix}active_file {active * MIB}",
    )
    return {"memory.stat": "\n".join(lines)}


def test_the_host() -> None:
    """The host has available and total memory."""
    values = sample(host.opened("memory")).samples["host"]
    assert 0 < values["memory_available_bytes"] < values["memory_total_bytes"]
    assert values["memory_total_bytes"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_cached_files_are_free(tree: Tree) -> None:
    """Cached files of a group count as free; shared memory does not."""
    point = tree.mount(2)
    tree.enter("0::/pod/c1")
    write(point / "pod", {**memory_v2(199 * MIB, 200 * MIB), **stat(80, 40, shared=30)})
    write(point / "pod/c1", memory_v2(140 * MIB, "max"))
    values = sample(host.opened("memory")).samples["cgroup"]
    assert values == {"memory_left_bytes": 121 * MIB, "memory_left_of_bytes": 200 * MIB}


def test_the_nearest_limit_counts(tree: Tree) -> None:
    """Of two limits, the one with less memory left counts."""
    point = tree.mount(2)
    tree.enter("0::/pod/c1")
    write(point / "pod", {**memory_v2(1000 * MIB, 1024 * MIB), **stat(10, 0)})
    write(point / "pod/c1", {**memory_v2(140 * MIB, 200 * MIB), **stat(10, 0)})
    values = sample(host.opened("memory")).samples["cgroup"]
    assert values == {"memory_left_bytes": 34 * MIB, "memory_left_of_bytes": 1024 * MIB}


def test_version_1(tree: Tree) -> None:
    """Version 1 gives the same from its hierarchical counters."""
    point = tree.mount(1, "memory")
    tree.enter("4:memory:/job")
    files: dict[str, object] = {
        "memory.usage_in_bytes": 190 * MIB,
        "memory.limit_in_bytes": 200 * MIB,
    }
    write(point / "job", {**files, **stat(50, 20, prefix="total_")})
    values = sample(host.opened("memory")).samples["cgroup"]
    assert values == {"memory_left_bytes": 80 * MIB, "memory_left_of_bytes": 200 * MIB}


def test_no_limit(tree: Tree) -> None:
    """Without a limit a group has no numbers."""
    point = tree.mount(2)
    tree.enter("0::/c1")
    write(point / "c1", memory_v2(140 * MIB, "max"))
    assert "cgroup" not in sample(host.opened("memory")).samples


def test_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without /proc/meminfo the source is unavailable."""
    monkeypatch.setattr(memory, "MEMINFO", str(tmp_path / "absent"))
    with pytest.raises(SourceUnavailableError, match="absent cannot be read"):
        host.opened("memory")


READS = """
import os, sys
with open(sys.argv[2], "w") as procs: procs.write(str(os.getpid()))
print("in", flush=True)
with open(sys.argv[1], "rb") as file:
    while file.read(1 << 20): pass
print("read", flush=True)
sys.stdin.readline()
"""
"""Program that enters the cgroup and reads a file larger than its limit."""


@pytest.mark.e2e
def test_a_group_that_reads_much(tmp_path: Path) -> None:
    """A real group that is full of cached files has most of its memory left."""
    big = tmp_path / "big"
    big.write_bytes(b"\0" * (200 * MIB))
    subprocess.run(["sync", big], check=True)
    os.posix_fadvise(fd := os.open(big, os.O_RDONLY), 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
    reads = (*python(READS), str(big))
    with host.limited_group(100 * MIB) as group, host.eat(reads, group) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"read\n"
        outputs = [sample(host.opened(name, process.pid)) for name in ("memory", "cgroup")]
        process.communicate(b"go\n")
    left, room = (one.samples["cgroup"] for one in outputs)
    assert left["memory_left_of_bytes"] == 100 * MIB
    assert room["memory_room_bytes"] < 20 * MIB
    assert left["memory_left_bytes"] > 60 * MIB
