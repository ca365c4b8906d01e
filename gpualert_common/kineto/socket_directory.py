"""The directory with the daemon's socket, to which each process of PyTorch adds its own socket.

The path of a socket has less than 108 bytes, so that the directory cannot lie in the record.
"""

from __future__ import annotations

import os
import socket
import stat

from gpualert_common.record.files import remove_all
from gpualert_common.record.private_directory import find_other_writers, resolve_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SOCKET = "dynolog"
"""Name that Kineto expects."""
CLIENT_PREFIX = "dynoconfigclient"
_MOST_SOCKET_PATH = 107
"""Bytes of ``sun_path`` before its NUL."""
_CLIENT_BYTES = len(CLIENT_PREFIX) + 36
"""Kineto appends a UUID to its name."""
_PREFIX = "gpualert-kineto-"
_RANDOM_BYTES = 8


def make_socket_directory(environment: Mapping[bytes, bytes]) -> str:
    """Return the path of a new directory for this user only.

    It lies where the run has its temporary files.  ``XDG_RUNTIME_DIR`` is the last resort: it is
    removed when the user logs out, and a run may outlive that.  Raises OSError with the reasons.
    """
    places = [environment.get(b"TMPDIR", b""), b"/tmp", environment.get(b"XDG_RUNTIME_DIR", b"")]
    problems = []
    for place in dict.fromkeys(os.fsdecode(one) for one in places if one):
        try:
            return _make_below(place)
        except OSError as error:
            problems.append(f"{place}: {error.strerror}")
    raise OSError(None, "; ".join(problems))


def _make_below(place: str) -> str:
    path = os.path.join(resolve_directory(place), _PREFIX + os.urandom(_RANDOM_BYTES).hex())
    if len(os.fsencode(path)) + 1 + _CLIENT_BYTES > _MOST_SOCKET_PATH:
        raise OSError(None, "its path is too long for a socket")
    os.mkdir(path, 0o700)
    return path


def is_socket_directory(path: str) -> bool:
    """True for the path of a directory that :func:`make_socket_directory` may have made."""
    return os.path.isabs(path) and os.path.basename(path).startswith(_PREFIX)


def bind_socket(directory: str) -> socket.socket:
    """Return the daemon's socket, in place of an earlier one; it names the sender of each datagram.

    Raises OSError.
    """
    path = os.path.join(directory, SOCKET)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        bound.bind(path)
    except OSError:
        bound.close()
        raise
    return bound


def wake_daemon(directory: str) -> bool:
    """Send an empty datagram to the daemon; False if there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
        try:
            one.sendto(b"", socket.MSG_DONTWAIT, os.path.join(directory, SOCKET))
        except BlockingIOError:
            return True  # many processes ask it now, so that it is awake soon
        except OSError:
            return False
    return True


def remove_socket_directory(path: str) -> None:
    """Remove a directory of ours with the sockets in it, if it is still there."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        if not find_other_writers(os.fstat(fd)):
            remove_all(fd)
            os.rmdir(path)
    except OSError:
        pass  # a process of PyTorch has just made its socket
    finally:
        os.close(fd)


def is_client_address(address: object, directory: str) -> bool:
    """True for the path of a socket that Kineto makes in this directory."""
    if not isinstance(address, str):
        return False  # abstract or without a name: no answer is sent there
    folder, name = os.path.split(address)
    if folder != directory or not name.startswith(CLIENT_PREFIX):
        return False
    try:
        return stat.S_ISSOCK(os.lstat(address).st_mode)
    except OSError:
        return False
