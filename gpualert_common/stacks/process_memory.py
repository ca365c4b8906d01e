"""Memory of another process, where it may be read."""

from __future__ import annotations

import os

_MOST_TEXT_BYTES = 4096
_PAGE_BYTES = 4096


def read_memory(pid: int, address: int, size: int) -> bytes:
    """Return bytes of the memory of a process; empty where it may not be read."""
    if address <= 0 or size <= 0:
        return b""
    try:
        fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.pread(fd, size, address)
    except (OSError, OverflowError):
        return b""
    finally:
        os.close(fd)


def read_text(pid: int, address: int) -> str:
    """Return the text at an address of a process; "" where it may not be read."""
    size = min(
        _MOST_TEXT_BYTES, _PAGE_BYTES - address % _PAGE_BYTES
    )  # a page more may not be there
    return os.fsdecode(read_memory(pid, address, size).partition(b"\0")[0])
