"""A file system in user space (FUSE) with one file, by the kernel's protocol.

Its arguments are the directory on which it mounts, and the number of bytes of the file.  It prints
a line when it is mounted.  Its layouts are those of ``include/uapi/linux/fuse.h``.
"""

import os
import stat
import struct
import subprocess
import sys
from enum import IntEnum

_HEADER = struct.Struct("<IIQQIIIHH")
_ANSWER = struct.Struct("<IiQ")
_ROOT, _FILE = 1, 2
_ENOENT, _ENOSYS = 2, 38
_MOST_BYTES = 1 << 17


class Request(IntEnum):
    """Requests that are answered; all others are not implemented."""

    LOOKUP = 1
    FORGET = 2
    GETATTR = 3
    OPEN = 14
    READ = 15
    RELEASE = 18
    INIT = 26


def attributes(node: int, size: int) -> bytes:
    """Return the attributes of the root or the file."""
    mode = stat.S_IFDIR | 0o755 if node == _ROOT else stat.S_IFREG | 0o644
    return struct.pack("<6Q3I7I", node, size, *(0,) * 7, mode, 1, 0, 0, 0, 4096, 0)


def answer(request: int, node: int, body: bytes, size: int) -> bytes | int:
    """Return the answer to a request, or the number of an error."""
    if request == Request.INIT:
        version, limits = (7, 31, _MOST_BYTES, 0), (8, 6, _MOST_BYTES, 1, 32, 0, 0)
        return struct.pack("<4I2H2I2HI28x", *version, *limits)
    if request == Request.LOOKUP and body.rstrip(b"\0") == b"file":
        return struct.pack("<4Q2I", _FILE, *(0,) * 5) + attributes(_FILE, size)
    if request == Request.GETATTR:
        return bytes(16) + attributes(node, size)
    if request == Request.OPEN:
        return bytes(16)
    if request == Request.READ:
        _handle, offset, length = struct.unpack_from("<QQI", body)
        return bytes(max(0, min(length, size - offset)))
    if request == Request.RELEASE:
        return b""
    return _ENOENT if request == Request.LOOKUP else _ENOSYS


def serve(point: str, size: int) -> None:
    """Mount, and answer requests until the file system is unmounted."""
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
    mount = ["mount", "-i", "-t", "fuse.example", "-o", options, "server:/data", point]
    subprocess.run(mount, check=True, pass_fds=[device])
    print("ready", flush=True)
    while True:
        try:
            data = os.read(device, 2 * _MOST_BYTES)
        except OSError:  # unmounted
            return
        _length, request, number, node, *_rest = _HEADER.unpack_from(data)
        if request != Request.FORGET:
            found = answer(request, node, data[_HEADER.size :], size)
            error, body = (-found, b"") if isinstance(found, int) else (0, found)
            os.write(device, _ANSWER.pack(_ANSWER.size + len(body), error, number) + body)


serve(sys.argv[1], int(sys.argv[2]))
