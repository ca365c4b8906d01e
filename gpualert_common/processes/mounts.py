"""Mounts that a process sees, from its ``mountinfo``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from gpualert_common.processes.procfs import read
from gpualert_common.structs import Struct

MOUNTS = "/proc/{}/mountinfo"

_OCTAL = re.compile(rb"\\([0-7]{3})")


class Mount(Struct, frozen=True):
    """One mount: ``root`` is the part of the file system that is visible at ``point``.

    ``number`` is that of its device, as in "0:39".
    """

    root: str
    point: str
    kind: str
    device: str
    options: frozenset[str]
    number: str = ""


def read_mounts(pid: int | str = "self") -> Iterator[Mount]:
    """Yield every mount that a process sees, in the order of mounting."""
    for line in read(MOUNTS.format(pid)).splitlines():
        head, _, tail = line.partition(b" - ")
        before, after = head.split(b" "), tail.split(b" ")
        if len(before) < 5 or len(after) < 3:
            continue
        root, point, kind, device = (_unescape(one) for one in (*before[3:5], *after[:2]))
        options = frozenset(_unescape(after[2]).split(","))
        yield Mount(root, point, kind, device, options, before[2].decode("ascii", "replace"))


def find_mount(path: str, pid: int | str = "self") -> dict[str, str]:
    """Return type, device and mount point for a path without links, as a process sees it; empty if
    unknown."""
    found = find_mount_of(path, pid)
    if found is None:
        return {}
    return {"type": found.kind, "device": found.device, "mounted_at": found.point}


def find_mount_of(path: str, pid: int | str = "self") -> Mount | None:
    """Return the mount of a path without links, as a process sees it; None if unknown."""
    best: Mount | None = None
    for mount in read_mounts(pid):
        inside = f"{path}/".startswith(f"{mount.point.rstrip('/')}/")
        if inside and (best is None or len(mount.point) >= len(best.point)):
            best = mount  # the later of two mounts at one point hides the other
    return best


def _unescape(field: bytes) -> str:
    return os.fsdecode(_OCTAL.sub(lambda match: bytes([int(match[1], 8)]), field))
