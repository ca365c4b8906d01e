"""Source files of frames: whose code a file is, and the text of its lines."""

from __future__ import annotations

import os
import re
from functools import lru_cache

_LIBRARY = re.compile(
    r"/(?:site|dist)-packages/|/lib(?:64)?/(?:python|pypy)\d|^<(?:frozen|string|stdin|unknown)"
    r"|\.so(?:\.|$)|\.zip/"
)
"""Paths of the standard library, of installed packages, and of what is no file."""
_MOST_CODE_CHARS = 120
_MOST_FILE_BYTES = 4 << 20


def is_own_file(path: str) -> bool:
    """Return whether a file is the user's own: not of the standard library, not installed."""
    return path.endswith((".py", ".ipynb", ".pyx")) and not _LIBRARY.search(path)


def read_source_line(pid: int, path: str, number: int) -> str:
    """Return the text of a line of a file of a process, without indentation; "" if unreadable.

    A process of a container has a file system of its own, and a relative path belongs to its
    working directory.
    """
    if not os.path.isabs(path):
        try:
            path = os.path.join(os.readlink(f"/proc/{pid}/cwd"), path)
        except OSError:
            return ""
    lines = _read_lines(f"/proc/{pid}/root{path}")
    if not 0 < number <= len(lines):
        return ""
    text = lines[number - 1].decode("utf-8", "replace").strip()
    return text if len(text) <= _MOST_CODE_CHARS else text[: _MOST_CODE_CHARS - 1] + "…"


@lru_cache(maxsize=64)
def _read_lines(path: str) -> list[bytes]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return []
    with open(fd, "rb") as file:
        try:
            data = file.read(_MOST_FILE_BYTES)
        except OSError:
            return []
    return data.splitlines()
