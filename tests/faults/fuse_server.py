"""A file system in user space (FUSE) with one file, by the kernel's protocol.

Its arguments are the directory on which it mounts, and the number of bytes of the file.  It prints
a line when it is mounted.  Its layouts are those of ``include/uapi/linux/fuse.h``.
"""

import os
import stat
import struct
import subprocess
import sys

_LOOKUP, _FORGET, _GETATTR, _OPEN, _READ, _RELEASE, _INIT = 1, 2, 3, 14, 15, 18, 26
_IN = struct.Struct("<IIQQIIIHH")
_OUT = struct.Struct("<IiQ")
_ROOT, _FILE = 1, 2
_ENOENT, _ENOSYS = 2, 38


def attributes(node: int, size: int) -> bytes:
    """Return the attributes of the root or the file."""
    mode = stat.S_IFDIR | 0o755 if node == _ROOT else stat.S_IFREG | 0o644
    times = (0,) * 6
    return struct.pack("<6Q3I7I", node, size, 0, *times, mode, 1, 0, 0, 0, 4096, 0)


def answer(operation: int, node: int, body: bytes, size: int) -> bytes | int:
    """Return the answer to a request, or the number of an error."""
    match operation:
        case 26:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, 1 << 17, 0, 8, 6, 1 << 17, 1, 32, 0, 0)
        case 1:
            if body.rstrip(b"\0") != b"file":
                return _ENOENT
            return struct.pack("<QQQQII", _FILE, 0, 0, 0, 0, 0) + attributes(_FILE, size)
        case 3:
            return struct.pack("<QII", 0, 0, 0) + attributes(node, size)
        case 14:
            return struct.pack("<QII", 0, 0, 0)
        case 15:
            _handle, offset, length = struct.unpack_from("<QQI", body)
            return bytes(max(0, min(length, size - offset)))
        case 18:
            return b""
    return _ENOSYS


def serve(point: str, size: int) -> None:
    """Mount, and answer requests until the file system is unmounted."""
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
    mount = ["mount", "-i", "-t", "fuse.example", "-o", options, "server:/data", point]
    subprocess.run(mount, check=True, pass_fds=[device])
    print("ready", flush=True)
    while True:
        try:
            request = os.read(device, 1 << 18)
        except OSError:  # unmounted
            return
        _length, operation, number, node, *_rest = _IN.unpack_from(request)
        if operation == _FORGET:
            continue
        found = answer(operation, node, request[_IN.size :], size)
        error, data = (-found, b"") if isinstance(found, int) else (0, found)
        os.write(device, _OUT.pack(_OUT.size + len(data), error, number) + data)


serve(sys.argv[1], int(sys.argv[2]))
