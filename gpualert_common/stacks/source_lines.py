"""Source files of frames: whose code a file is, and the text of its lines."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache

from gpualert_common.processes.process_user import read_user
from gpualert_common.processes.procfs import read_command
from gpualert_common.processes.user_files import UnreadableFileError, open_in_root
from gpualert_common.stacks.descriptors import is_remote_file
from gpualert_common.stacks.dump import StackFrame
from gpualert_common.structs import replace

_LIBRARY = re.compile(
    r"/(?:site|dist)-packages/|/lib(?:64)?/(?:python|pypy)\d|^<(?:frozen|unknown)"
    r"|\.so(?:\.|$)|\.zip/"
)
"""Paths of the standard library, of installed packages, and of what is no file."""
INLINE_CODE = "<string>"
"""File of the code of ``python -c``, and of code that a library makes."""
_TYPED = ("<stdin>", "<ipython-input-")
"""Files of code that a person typed, or that is read from standard input."""
_READING_S = 1.0
_MOST_CODE_CHARS = 120
_MOST_FILE_BYTES = 4 << 20


def is_own_file(path: str) -> bool:
    """Return whether a file is the user's own: not of the standard library, not installed."""
    is_source = path.endswith((".py", ".ipynb", ".pyx")) or path.startswith(_TYPED)
    return is_source and not _LIBRARY.search(path)


def add_code(
    stacks: tuple[tuple[StackFrame, ...], ...],
    users: Mapping[int, int],
    *,
    is_local_only: bool = False,
) -> tuple[tuple[StackFrame, ...], ...]:
    """Return the stacks with the text of the lines of the user's own code.

    ``users`` has a process for each stack.  Files on a disk that does not answer are left out: the
    run may hang for the same reason.  With ``is_local_only`` no file of a network or of FUSE is
    touched, since even the end of this process would wait for it.
    """
    found: list[tuple[StackFrame, ...]] = []

    def read() -> None:
        for index, frames in enumerate(stacks):
            pid = users.get(index)
            found.append(
                tuple(
                    replace(one, code=read_source_line(pid, one.file, one.line))
                    if one.is_own
                    and pid is not None
                    and not (is_local_only and is_remote_file(one.file, pid))
                    else one
                    for one in frames
                )
            )

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(_READING_S)
    read_so_far = tuple(found)
    return read_so_far + stacks[len(read_so_far) :]


def read_source_line(pid: int, path: str, number: int) -> str:
    """Return the text of a line of a file of a process, without indentation; "" if unreadable.

    A process of a container has a file system of its own, and a relative path belongs to its
    working directory.  The process itself names the file: only one that its user may read is read.
    """
    if path == INLINE_CODE:
        return _get_line(_read_inline_code(pid), number)
    if not os.path.isabs(path):
        try:
            path = os.path.join(os.readlink(f"/proc/{pid}/cwd"), path)
        except OSError:
            return ""
    return _get_line(_read_lines(pid, path), number)


def _read_inline_code(pid: int) -> list[bytes]:
    """Return the lines of the code in the arguments of a Python."""
    words = read_command(pid)
    code = words[words.index("-c") + 1 :] if "-c" in words else []
    return os.fsencode(code[0]).splitlines() if code else []


def _get_line(lines: Sequence[bytes], number: int) -> str:
    if not 0 < number <= len(lines):
        return ""
    text = lines[number - 1].decode("utf-8", "replace").strip()
    return text if len(text) <= _MOST_CODE_CHARS else text[: _MOST_CODE_CHARS - 1] + "…"


@lru_cache(maxsize=64)
def _read_lines(pid: int, path: str) -> list[bytes]:
    try:
        fd = open_in_root(pid, path, read_user(pid))
    except UnreadableFileError:
        return []
    with open(fd, "rb") as file:
        try:
            data = file.read(_MOST_FILE_BYTES)
        except OSError:
            return []
    return data.splitlines()
