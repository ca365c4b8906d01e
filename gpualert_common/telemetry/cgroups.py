"""The cgroups of a process, in trees of version 1, of version 2, or of both."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from gpualert_common.processes.mounts import Mount, read_mounts
from gpualert_common.processes.procfs import read
from gpualert_common.structs import Struct

MEMBERSHIP = "/proc/{}/cgroup"

_CONTAINER = re.compile(r"(?<![0-9a-f])([0-9a-f]{64})(?![0-9a-f])")
_POD = re.compile(r"pod([0-9a-f]{8}[-_](?:[0-9a-f]{4}[-_]){3}[0-9a-f]{12}|[0-9a-f]{32})\b")
_SLURM = re.compile(r"/slurm.*?/job_(\d+)(?:/step_(\w+))?")


class CgroupPath(Struct, frozen=True):
    """One cgroup: ``path`` is its name in the kernel's log; ``levels`` are the visible directories
    of the cgroup and its ancestors, in that order."""

    version: int
    path: str
    levels: tuple[str, ...]

    def get_path(self, level: str) -> str:
        """Return the name of the cgroup at one of its levels."""
        above = self.levels.index(level)
        return self.path if not above else self.path.rsplit("/", above)[0] or "/"


def find_cgroups(pid: int | str) -> dict[str, CgroupPath]:
    """Return the cgroup of the process for each controller; that of version 2 has the key "".

    Empty when the process has ended or no cgroup is visible.
    """
    trees = [mount for mount in read_mounts() if mount.kind in ("cgroup", "cgroup2")]
    found = {}
    for line in read(MEMBERSHIP.format(pid)).decode("utf-8", "surrogateescape").splitlines():
        _number, controllers, path = line.split(":", 2)
        version = 1 if controllers else 2
        for controller in controllers.split(","):
            levels = _find_levels(trees, version, controller, path)
            if levels:
                found[controller] = CgroupPath(version, path, levels)
    return found


def read_location(pid: int) -> dict[str, str]:
    """Return the location of a process: container, pod, Slurm job and step, as far as known."""
    groups = read(MEMBERSHIP.format(pid)).decode("utf-8", "replace")
    return parse_location(line.split(":", 2)[-1] for line in groups.splitlines())


def read_container_group(pid: int) -> str:
    """Return the control groups that make the container of a process; "" outside of containers.

    A user may name a group of a part of the tree that is delegated to them like a container of
    another user: only the whole path tells one from the other.
    """
    lines = read(MEMBERSHIP.format(pid)).decode("utf-8", "replace").splitlines()
    paths = (line.split(":", 2)[-1] for line in lines)
    ends = ((path, _CONTAINER.search(path)) for path in paths)
    return " ".join(sorted({path[: match.end()] for path, match in ends if match}))


def parse_location(paths: Iterable[str]) -> dict[str, str]:
    """Return the location of a process by its cgroup paths: container, pod, Slurm job and step."""
    found: dict[str, str] = {}
    for path in paths:
        if match := _CONTAINER.search(path):
            found["container"] = match[1]
        if match := _POD.search(path):
            found["pod"] = match[1].replace("_", "-")
        if match := _SLURM.search(path):
            found["slurm_job"] = match[1]
            if match[2]:
                found["slurm_step"] = match[2]
    return found


def _find_levels(trees: list[Mount], version: int, controller: str, path: str) -> tuple[str, ...]:
    """Return the directories of the cgroup and its ancestors, as far as a mount shows them.

    A container sees a part of the tree; the root of the mount is its own cgroup or an ancestor.
    """
    for mount in trees:
        if version == 2 and mount.kind != "cgroup2":
            continue
        if version == 1 and (mount.kind != "cgroup" or controller not in mount.options):
            continue
        root = mount.root.rstrip("/")
        names = [name for name in path[len(root) :].split("/") if name]
        if not f"{path}/".startswith(f"{root}/") or ".." in names:
            continue  # not visible in this container
        found = [os.path.join(mount.point, *names[:depth]) for depth in range(len(names), -1, -1)]
        if os.path.isdir(found[0]):
            return tuple(found)
    return ()
