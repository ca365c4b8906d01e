"""Control groups of tests: a process stays in its group, whatever it does to its environment."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "gpualert-task-"


def find_hierarchy() -> Path | None:
    """Return the place of the groups: that of cgroup v2, or of the controller ``pids`` of v1."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _device, mounted, kind, options = line.split()[:4]
        if kind == "cgroup2" or (kind == "cgroup" and "pids" in options.split(",")):
            return Path(mounted)
    return None


def enter_group(name: str) -> None:
    """Move this process into the group of a task, with all of its later descendants.

    Without the permission it stays where it is.
    """
    group = _path_of(name)
    if group is not None:
        with contextlib.suppress(OSError):
            group.mkdir(exist_ok=True)
            (group / "cgroup.procs").write_text("0")


def members_by_group() -> Iterator[tuple[str, list[int]]]:
    """Yield the name of each group and its processes, zombies included."""
    place = find_hierarchy()
    for group in place.glob(f"{_PREFIX}*") if place is not None else ():
        with contextlib.suppress(OSError):  # it was removed meanwhile
            pids = [int(pid) for pid in (group / "cgroup.procs").read_text().split()]
            yield group.name.removeprefix(_PREFIX), pids


def remove_group(name: str) -> None:
    """Remove the group of a task, unless it has processes."""
    group = _path_of(name)
    if group is not None:
        with contextlib.suppress(OSError):
            group.rmdir()


def _path_of(name: str) -> Path | None:
    place = find_hierarchy()
    return None if place is None else place / f"{_PREFIX}{name}"
