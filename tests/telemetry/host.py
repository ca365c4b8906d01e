"""Helpers for tests of the host's sources: samples of real processes, and groups with a limit."""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    load_source_class,
)
from tests.supervised import until

MARK = "GPUALERT_MARK_of_a_test"
V1 = Path("/sys/fs/cgroup/memory")
V2 = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class SourceOutput:
    """The output of one sample."""

    samples: dict[str, dict[str, float]]
    events: list[SourceEvent]

    def of_kind(self, what: str) -> list[SourceEvent]:
        """Return the events of one kind."""
        return [event for event in self.events if event.what == what]


def observed_run(pid: int | None = None, **changed: Any) -> ObservedRun:
    """Return a run with this process as leader, started now by default."""
    given = {"started_at": time.time(), "record_path": "/nowhere/run", **changed}
    return ObservedRun("run", os.getpid() if pid is None else pid, MARK, **given)


def opened(name: str, pid: int | None = None, **changed: Any) -> Source:
    """Return a source that is open for such a run."""
    return load_source_class(name)(observed_run(pid, **changed))


def sample(source: Source) -> SourceOutput:
    """Sample once."""
    output = list(source.sample())
    samples = {one.of: dict(one.values) for one in output if isinstance(one, Sample)}
    return SourceOutput(samples, [one for one in output if isinstance(one, SourceEvent)])


@contextmanager
def limited_group(limit_bytes: int) -> Iterator[Path]:
    """Create a cgroup with a memory limit and no swap; needs root."""
    is_v1 = (V1 / "memory.limit_in_bytes").exists()
    path = (V1 if is_v1 else V2) / f"gpualert-test-{uuid.uuid4().hex[:12]}"
    if not is_v1:
        (V2 / "cgroup.subtree_control").write_text("+memory")
    path.mkdir()
    names = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
    limits = dict.fromkeys(names, limit_bytes)
    if not is_v1:
        limits = {"memory.max": limit_bytes, "memory.swap.max": 0}
    for name, limit in limits.items():
        if (path / name).exists():
            (path / name).write_text(str(limit))
    try:
        yield path
    finally:
        until(lambda: remove(path), f"{path} to be empty")


def remove(group: Path) -> bool:
    """Remove a cgroup; return False while it contains a process."""
    try:
        group.rmdir()
    except OSError:
        return False
    return True


EATS = """
import os, sys
with open(sys.argv[1], "w") as procs: procs.write(str(os.getpid()))
print("in", flush=True)
sys.stdin.readline()
held = []
while True: held.append(b"x" * (1 << 20))
"""
"""Program that enters the cgroup, waits for a line, and then allocates all available memory."""


def eat(command: tuple[str, ...], group: Path, **options: Any) -> subprocess.Popen[bytes]:
    """Start the program as a leader; return when it is in the cgroup."""
    process = subprocess.Popen(
        (*command, str(group / "cgroup.procs")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        **options,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"in\n"
    return process
