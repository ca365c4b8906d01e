"""Trusted files in a user namespace without root, as an unprivileged container has it.

There root and every other user have one id.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

USER = 65533
STRANGER = 4242
ENTER = """
import ctypes, os, sys
from gpualert_common.record.private_directory import resolve_state_dir
from gpualert_common.trusted_files import read_trusted_file
user = os.geteuid()
assert ctypes.CDLL(None).unshare(0x10000000) == 0, "CLONE_NEWUSER"
with open("/proc/self/uid_map", "w") as file:
    file.write(f"{user} {user} 1")
try:
    print({"state": resolve_state_dir, "file": lambda path: read_trusted_file(path, 99)}
          [sys.argv[1]](sys.argv[2]))
except OSError as error:
    print("refused:", error.strerror)
"""
READ_ONLY = 'mount --bind "$0" "$0"; mount -o remount,bind,ro "$0"; exec "$@"'


def enter(kind: str, path: Path, *before: str) -> str:
    """Return what the user in the namespace gets for a path."""
    user = ("setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups")
    command = (*before, *user, sys.executable, "-c", ENTER, kind, str(path))
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def place() -> Iterator[Path]:
    """Return a directory of root with ``shared``, which is as /tmp is, and ``link`` to that."""
    with tempfile.TemporaryDirectory(prefix="gpualert-test-") as root:
        Path(root).chmod(0o755)
        site = Path(root) / "site"  # only root can put it there
        (site / "shared").mkdir(parents=True)
        (site / "shared").chmod(0o1777)
        (site / "link").symlink_to("shared")
        yield site


@pytest.mark.parametrize("name", ["shared", "link"])
def test_directory_of_root(place: Path, name: str) -> None:
    """A shared directory of root, and a link of root, are trusted."""
    assert enter("state", place / name) == f"{place}/shared/user-{USER}"


@pytest.mark.parametrize("kind", ["directory", "link", "directory above"])
def test_file_of_a_stranger(place: Path, kind: str) -> None:
    """In a directory where all users can put files, one that may be a stranger's is refused."""
    planted = place / "shared" / "planted"
    if kind == "link":
        planted.symlink_to(place / "shared")
    else:
        planted.mkdir()
        planted.chmod(0o1777)
    os.lchown(planted, STRANGER, STRANGER)
    given = planted / "state" if kind == "directory above" else planted
    assert "belongs to user 65534" in enter("state", given)


@pytest.mark.parametrize("owner", [0, USER])
@pytest.mark.parametrize("is_read_only", [False, True])
def test_settings_file(place: Path, owner: int, is_read_only: bool) -> None:
    """A file that may be a stranger's is trusted only in a read-only mount, as in an image."""
    file = place / "config.toml"
    file.write_text("grace = 1")
    os.chown(file, owner, owner)
    before = ("unshare", "--mount", "sh", "-ec", READ_ONLY, str(place)) if is_read_only else ()
    found = enter("file", file, *before)
    if owner == USER or is_read_only:
        assert found == "b'grace = 1'"
    else:
        assert found.startswith("refused: not trusted: it belongs to user 65534")
