"""Access of the user of a process to files, beside what the kernel decides."""

from __future__ import annotations

import itertools
import os
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpualert_common.processes.process_user import ProcessUser
from tests.supervised import shell

TAGS = {"u": (0x01, 0x02), "g": (0x04, 0x08), "m": (0x10, 0x10), "o": (0x20, 0x20)}
STRANGER = ProcessUser(4242, (77,))
OWN_GROUP = ProcessUser(4242, (os.getegid(), 77))


@contextmanager
def open_pinned(path: Path) -> Iterator[int]:
    """Pin a file without reading it."""
    fd = os.open(path, os.O_PATH)
    try:
        yield fd
    finally:
        os.close(fd)


def set_access_list(path: Path, text: str) -> None:
    """Set the access list of a file, such as "u::6 u:4242:4 g::0 m::6 o::0"."""
    data = struct.pack("<I", 2)
    for entry in text.split():
        tag, who, access = entry.split(":")
        number = TAGS[tag][bool(who)]
        data += struct.pack("<HHI", number, int(access), int(who or 0xFFFFFFFF))
    os.setxattr(path, "system.posix_acl_access", data)


@pytest.mark.parametrize(
    ("mode", "user", "is_readable"),
    [
        (0o604, STRANGER, True),
        (0o640, STRANGER, False),
        (0o640, OWN_GROUP, True),
        (0o604, OWN_GROUP, False),
    ],
)
def test_mode(tmp_path: Path, mode: int, user: ProcessUser, is_readable: bool) -> None:
    """The first class that a user belongs to counts: owner, group, others."""
    path = tmp_path / "file"
    path.touch()
    path.chmod(mode)
    with open_pinned(path) as fd:
        assert user.may_read(fd) is is_readable
        assert not user.may_search(fd)


@pytest.mark.parametrize(
    ("access_list", "user", "is_readable"),
    [
        ("u::6 u:4242:4 g::0 m::4 o::0", STRANGER, True),
        ("u::6 u:4242:4 g::0 m::2 o::0", STRANGER, False),
        ("u::6 u:4242:0 g::4 m::4 o::4", OWN_GROUP, False),
        ("u::6 u:4243:4 g::0 m::4 o::0", OWN_GROUP, False),
        ("u::6 g::0 g:77:4 m::4 o::0", STRANGER, True),
        ("u::6 g::0 g:77:4 m::4 o::0", OWN_GROUP, True),
        ("u::6 g::4 g:77:0 m::4 o::4", STRANGER, False),
        ("u::6 g::4 g:78:4 m::4 o::0", STRANGER, False),
    ],
)
def test_access_list(
    tmp_path: Path, access_list: str, user: ProcessUser, is_readable: bool
) -> None:
    """With an access list the bits of the group in the mode are its mask, and grant nothing."""
    path = tmp_path / "file"
    path.touch()
    set_access_list(path, access_list)
    with open_pinned(path) as fd:
        assert user.may_read(fd) is is_readable


@pytest.mark.e2e
def test_decisions_of_the_kernel(tmp_path: Path) -> None:
    """For many access lists and users the answer is that of the kernel."""
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents[:2]:
        parent.chmod(0o755)
    paths = []
    for number, bits in enumerate(itertools.product("04", repeat=5)):
        path = tmp_path / str(number)
        path.touch()
        owner, group, named, mask, other = bits
        text = f"u::{owner} u:4242:{named} g::{group} g:77:{group} m::{mask} o::{other}"
        set_access_list(path, text)
        os.chown(path, 4000, 5000)
        paths.append(str(path))
    code = 'for path; do if [ -r "$path" ]; then echo True; else echo False; fi; done'
    users = [ProcessUser(4000, (5,)), STRANGER, ProcessUser(9, (77,)), ProcessUser(9, (5000, 1))]
    for user in [*users, ProcessUser(9, (1,))]:
        done = subprocess.run(
            [*shell(code), "sh", *paths],
            user=user.uid,
            group=user.groups[0],
            extra_groups=user.groups,
            capture_output=True,
            text=True,
            check=True,
        )
        found = []
        for readable in paths:
            with open_pinned(Path(readable)) as fd:
                found.append(str(user.may_read(fd)))
        assert found == done.stdout.split(), user
