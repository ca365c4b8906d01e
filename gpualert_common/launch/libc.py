"""System calls that Python 3.11 does not offer, by ctypes."""

from __future__ import annotations

import ctypes
import errno
import os
import struct

_libc = ctypes.CDLL(None, use_errno=True)

_FALLOC_FL_KEEP_SIZE = 1
_PR_SET_CHILD_SUBREAPER = 36
_SFD_NONBLOCK_CLOEXEC = os.O_NONBLOCK | os.O_CLOEXEC
_SIGSET_BYTES = 128
_PIDFD_GET_INFO = 0xC040FF0B
_PIDFD_INFO_EXIT = 1 << 3

_SIGINFO = struct.Struct("=IiiII")
SIGINFO_BYTES = 128


def reserve(fd: int, size: int) -> None:
    """Reserve ``size`` bytes of disk for the file without changing its length.

    ``os.posix_fallocate`` would put NULs in front of what is appended.  Raises OSError;
    EOPNOTSUPP where the filesystem cannot do it.
    """
    result = _libc.fallocate(
        fd, _FALLOC_FL_KEEP_SIZE, ctypes.c_longlong(0), ctypes.c_longlong(size)
    )
    if result != 0:
        _raise_errno("fallocate")


def become_subreaper() -> bool:
    """Make orphaned descendants children of this process; False where the kernel refuses."""
    return bool(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def open_signalfd(signals: list[int]) -> int:
    """Return a non-blocking descriptor that yields these blocked signals.  Raises OSError."""
    mask = bytearray(_SIGSET_BYTES)
    for number in signals:
        mask[(number - 1) // 8] |= 1 << ((number - 1) % 8)
    buffer = (ctypes.c_char * _SIGSET_BYTES).from_buffer(mask)
    fd = int(_libc.signalfd(-1, buffer, _SFD_NONBLOCK_CLOEXEC))
    if fd < 0:
        _raise_errno("signalfd")
    return fd


def parse_siginfo(data: bytes) -> tuple[int, int, int, int]:
    """Return (signal, code, pid, uid) of one record read from a signalfd."""
    number, _errno, code, pid, uid = _SIGINFO.unpack_from(data)
    return number, code, pid, uid


def reaped_status(pidfd: int) -> int | None:
    """Return the wait status of a process that was reaped elsewhere, by its pidfd.

    Linux 6.15 and newer keep it; None on older kernels.
    """
    import fcntl

    info = bytearray(64)
    struct.pack_into("=Q", info, 0, _PIDFD_INFO_EXIT)
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, info)
    except OSError:
        return None
    if not struct.unpack_from("=Q", info)[0] & _PIDFD_INFO_EXIT:
        return None
    return int(struct.unpack_from("=i", info, 60)[0])


def _raise_errno(call: str) -> None:
    number = ctypes.get_errno()
    raise OSError(number, f"{call}: {os.strerror(number)}", None) from None


UNSUPPORTED = (errno.EOPNOTSUPP, errno.ENOSYS)
