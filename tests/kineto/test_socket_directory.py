"""The directory of the sockets: where it lies, who can use it, and what is no client in it."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from gpualert_common.kineto import socket_directory
from gpualert_common.kineto.socket_directory import (
    bind_socket,
    is_client_address,
    is_socket_directory,
    make_socket_directory,
    remove_socket_directory,
    wake_daemon,
)

CLIENT = "dynoconfigclient00000000-0000-4000-8000-000000000000"


def test_place(sockets: Path) -> None:
    """It is a new directory of this user in TMPDIR, and its longest socket can be bound."""
    path = make_socket_directory({b"TMPDIR": os.fsencode(sockets)})
    assert Path(path).parent == sockets
    assert is_socket_directory(path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.bind(f"{path}/{CLIENT}")
    remove_socket_directory(path)
    assert not os.path.exists(path)


def test_long_path(sockets: Path) -> None:
    """A directory that is too long for a socket is passed over."""
    long = sockets / ("x" * 60)
    long.mkdir()
    path = make_socket_directory({b"TMPDIR": os.fsencode(long)})
    assert os.path.dirname(path) == "/tmp"
    remove_socket_directory(path)


def test_shared_place(sockets: Path) -> None:
    """A directory in which another user could replace ours is passed over."""
    shared = sockets / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    path = make_socket_directory({b"TMPDIR": os.fsencode(shared)})
    assert os.path.dirname(path) == "/tmp"
    remove_socket_directory(path)


def test_no_place(sockets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any usable place, the error names each with its reason."""
    monkeypatch.setattr(socket_directory, "_MOST_SOCKET_PATH", 20)
    places = {b"TMPDIR": os.fsencode(sockets), b"XDG_RUNTIME_DIR": b"/nonexistent/run"}
    with pytest.raises(OSError, match="too long for a socket") as failed:
        make_socket_directory(places)
    for place in (str(sockets), "/tmp:", "/nonexistent/run: its path"):
        assert place in str(failed.value)


def test_client_addresses(sockets: Path) -> None:
    """Only a socket of Kineto's kind in the directory gets an answer."""
    path = make_socket_directory({b"TMPDIR": os.fsencode(sockets)})
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.bind(f"{path}/{CLIENT}")
        assert is_client_address(f"{path}/{CLIENT}", path)
    Path(path, "dynoconfigclient-file").touch()
    os.symlink("/dev/log", f"{path}/dynoconfigclient-link")
    others: list[object] = [None, "", b"\0dynolog", f"{path}/dynolog", f"{path}/../x/{CLIENT}"]
    others += [f"{path}/dynoconfigclient-file", f"{path}/dynoconfigclient-link", 7]
    assert [one for one in others if is_client_address(one, path)] == []
    remove_socket_directory(path)


def test_second_daemon(sockets: Path) -> None:
    """A daemon takes the place of one that died, at the same path, and can be woken."""
    path = make_socket_directory({b"TMPDIR": os.fsencode(sockets)})
    assert not wake_daemon(path)
    bind_socket(path).close()
    assert not wake_daemon(path)
    with bind_socket(path) as bound:
        assert wake_daemon(path)
        assert bound.recv(100) == b""
    remove_socket_directory(path)


def test_removal_of_others(sockets: Path) -> None:
    """A directory that others can write to, or that is gone, is left alone."""
    open_to_all = sockets / "gpualert-kineto-0"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    remove_socket_directory(str(open_to_all))
    assert open_to_all.exists()
    remove_socket_directory(str(sockets / "gone"))
