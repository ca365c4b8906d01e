"""Settings files that another user could have written are errors, and nothing is run."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpualert_common.errors import ConfigError
from gpualert_common.settings import load_settings
from tests.settings.test_config import write_project, write_user
from tests.supervised import PROGRAM, Lab

Place = Callable[[Lab], Path]

STRANGER = 4242
NOBODY = 65534
DAEMON = 1
"""A user of Debian with a group of the same name."""
USERS = 100
"""A group of Debian that many users may share."""

READERS = [
    "classify log",
    "config show",
    "follow",
    "notify test",
    "outbox list",
    "progress run",
    "recover",
    "rules list",
    "runs",
    "show",
    "stop",
]


@pytest.fixture
def here(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A lab whose directory is the working directory."""
    monkeypatch.chdir(lab.home)
    return lab


@pytest.fixture(params=[write_user, write_project], ids=["user", "project"])
def file(here: Lab, request: pytest.FixtureRequest) -> Path:
    """A valid settings file of this user."""
    written: Path = request.param(here, 'grace = "7s"\n')
    written.chmod(0o644)
    return written


def assert_obeyed() -> None:
    """Assert that the settings are those of the file."""
    assert load_settings()["grace"].value == 7.0


def assert_refused(file: Path, words: str) -> None:
    """Assert that the settings are an error of one line that names the file and the reason."""
    with pytest.raises(ConfigError) as caught:
        load_settings()
    assert str(caught.value).startswith(f"{file}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o644, 0o755])
def test_own_file(file: Path, mode: int) -> None:
    """A file that only its user can change is obeyed."""
    file.chmod(mode)
    assert_obeyed()


@pytest.mark.parametrize("mode", [0o602, 0o646, 0o666, 0o777])
def test_file_that_all_can_change(file: Path, mode: int) -> None:
    """A file that others can write to is refused."""
    file.chmod(mode)
    assert_refused(file, f"others can change it (its mode is {mode:04o})")


@pytest.mark.parametrize("mode", [0o757, 0o777])
def test_directory_that_all_can_change(file: Path, mode: int) -> None:
    """A file is refused in a directory where others can put another file in its place."""
    file.parent.chmod(mode)
    assert_refused(file, f"others can replace it (the mode of {file.parent} is {mode:04o})")


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o1777])
def test_directory_where_others_replace_nothing(file: Path, mode: int) -> None:
    """The sticky bit is protection enough."""
    file.parent.chmod(mode)
    assert_obeyed()


def test_link(file: Path) -> None:
    """A link is followed: settings are often kept in a repository."""
    kept = file.parent / "dotfiles" / "settings"
    kept.parent.mkdir()
    file.rename(kept)
    file.symlink_to(kept)
    assert_obeyed()
    kept.parent.chmod(0o777)
    assert_refused(file, "others can replace it")
    kept.parent.chmod(0o700)
    kept.chmod(0o666)
    assert_refused(file, "others can change it")


def test_missing_target_of_a_link(file: Path) -> None:
    """A link to nothing is no settings file."""
    file.unlink()
    file.symlink_to("nowhere")
    assert load_settings()["grace"].origin == "default"


def make_socket(path: Path) -> None:
    """Leave a socket at the path."""
    with socket.socket(socket.AF_UNIX) as one:
        folder = os.open(path.parent, os.O_RDONLY)
        one.bind(f"/proc/self/fd/{folder}/{path.name}")  # the length of a socket's path is limited
        os.close(folder)


def make_linked_pipe(path: Path) -> None:
    """Leave a link to a pipe at the path."""
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


SPECIAL: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "directory": os.mkdir,
    "socket": make_socket,
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "terminal": lambda path: path.symlink_to("/dev/tty"),
    "pipe behind a link": make_linked_pipe,
}


@pytest.mark.parametrize("make", SPECIAL.values(), ids=SPECIAL.keys())
def test_special_file(file: Path, make: Callable[[Path], None]) -> None:
    """A special file is refused, and never waited for."""
    file.unlink()
    make(file)
    assert_refused(file, "it is not a regular file")


def test_link_to_itself(file: Path) -> None:
    """A loop of links is an error."""
    file.unlink()
    file.symlink_to(file.name)
    assert_refused(file, "symbolic links")


@pytest.mark.parametrize("size", [(256 << 10) + 1, 1 << 40], ids=["large", "sparse"])
def test_large_file(file: Path, size: int) -> None:
    """A file of more than 256 KiB is refused, and not read further."""
    os.truncate(file, size)
    assert_refused(file, "it is larger than 256 KiB")


def test_safe_directory(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user can vouch for a directory: in a container files have the owners of the host."""
    file.chmod(0o666)
    monkeypatch.setenv("GPUALERT_SAFE_DIRECTORY", f":relative:{file.parent}x")
    assert_refused(file, "if you trust it, set GPUALERT_SAFE_DIRECTORY to its directory")
    monkeypatch.setenv("GPUALERT_SAFE_DIRECTORY", f"/elsewhere:{file.parent.parent}")
    assert_obeyed()
    file.unlink()
    os.mkfifo(file)
    assert_refused(file, "it is not a regular file")


def test_nothing_is_launched(here: Lab) -> None:
    """``gpualert run`` exits with 125, and runs neither the command nor a channel of the file."""
    text = 'notify = ["x"]\n[channels.x]\nkind = "command"\ncommand = "touch alerted"\n'
    write_project(here, text).chmod(0o666)
    done = here.gpualert("run", "--", "sh", "-c", "touch launched; exit 1")
    assert done.returncode == 125
    assert done.stderr.startswith(
        f"gpualert: error: {here.home}/gpualert.toml: not trusted".encode()
    )
    assert done.stderr.count(b"\n") == 1
    assert not (here.home / "launched").exists()
    assert not (here.home / "alerted").exists()


@pytest.mark.parametrize("command", READERS)
def test_readers_refuse(here: Lab, command: str) -> None:
    """Every command that reads settings refuses the file with one line and exit status 2."""
    here.script("log", "")
    here.run("true")
    os.mkfifo(here.home / "gpualert.toml")
    done = here.gpualert(*command.split())
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"gpualert.toml: it is not a regular file" in done.stderr


@pytest.fixture
def shared(here: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory that other users can enter, and the homes of the tests in it."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        for variable in ("HOME", "TMPDIR", "XDG_STATE_HOME", "GPUALERT_STATE_DIR"):
            folder = place / variable
            folder.mkdir(mode=0o1777)
            folder.chmod(0o1777)
            monkeypatch.setenv(variable, str(folder))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(place / "config"))
        yield place


def run_as(lab: Lab, uid: int, place: Path, *before: str) -> int:
    """Return the exit status of a run that another user starts in this directory."""
    user = ("setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--")
    command = ("sh", "-c", "exit 3")
    words = (*before, *user, *PROGRAM, "run", "--", *command)
    return lab.call(words, cwd=place).returncode


OBEYED, REFUSED = 3, 125
OWNERS = {
    # (user of the run, owner, group, mode): status
    "root's for root": (0, 0, 0, 0o644, OBEYED),
    "a stranger's for root": (0, STRANGER, STRANGER, 0o644, REFUSED),
    "a read-only one of a stranger": (0, STRANGER, STRANGER, 0o444, REFUSED),
    "group root may write": (0, 0, 0, 0o664, REFUSED),
    "a group may write, for root": (0, 0, USERS, 0o664, REFUSED),
    "one's own": (NOBODY, NOBODY, NOBODY, 0o600, OBEYED),
    "root's": (NOBODY, 0, 0, 0o644, OBEYED),
    "a stranger's": (NOBODY, STRANGER, NOBODY, 0o644, REFUSED),
    "root's that a group may write": (NOBODY, 0, USERS, 0o664, REFUSED),
    "one's own that a group may write": (DAEMON, DAEMON, USERS, 0o664, REFUSED),
    "one's own that one's private group may write": (DAEMON, DAEMON, DAEMON, 0o664, OBEYED),
    "one's own that all may write": (DAEMON, DAEMON, DAEMON, 0o666, REFUSED),
    "one's own that an unnamed group may write": (DAEMON, DAEMON, STRANGER, 0o660, REFUSED),
}


@pytest.mark.e2e
@pytest.mark.parametrize("kind", ["user", "project"])
@pytest.mark.parametrize(
    ("user", "owner", "group", "mode", "status"), OWNERS.values(), ids=OWNERS.keys()
)
def test_owner(
    here: Lab, shared: Path, kind: str, user: int, owner: int, group: int, mode: int, status: int
) -> None:
    """A file is obeyed only if it belongs to its user or root, and no other user can write it."""
    file = shared / ("gpualert.toml" if kind == "project" else "config/gpualert/config.toml")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("grace = 1\n")
    file.chmod(mode)
    os.chown(file, owner, group)
    file.chmod(mode)
    assert run_as(here, user, shared) == status


@pytest.mark.e2e
@pytest.mark.parametrize(("owner", "status"), [(0, OBEYED), (NOBODY, OBEYED), (STRANGER, REFUSED)])
def test_owner_of_a_link(here: Lab, shared: Path, owner: int, status: int) -> None:
    """A link that another user made is not followed, not even to a file of one's own."""
    file = shared / "mine.toml"
    file.write_text("grace = 1\n")
    os.chown(file, NOBODY, NOBODY)
    link = shared / "gpualert.toml"
    link.symlink_to(file)
    os.lchown(link, owner, owner)
    assert run_as(here, NOBODY, shared) == status


@pytest.mark.e2e
def test_directory_of_a_stranger(here: Lab, shared: Path) -> None:
    """A file of one's own is obeyed also in the directory of another user."""
    shutil.copy(write_project(here, "grace = 1\n"), shared)
    os.chown(shared / "gpualert.toml", NOBODY, NOBODY)
    os.chown(shared, STRANGER, STRANGER)
    assert run_as(here, NOBODY, shared) == OBEYED


READ_ONLY = 'mount --bind "$0" "$0"; mount -o remount,bind,ro "$0"; exec "$@"'


@pytest.mark.e2e
@pytest.mark.parametrize(("owner", "status"), [(0, OBEYED), (STRANGER, REFUSED)])
def test_read_only_mount(here: Lab, shared: Path, owner: int, status: int) -> None:
    """In a read-only mount, such as a ConfigMap, nobody replaces a file; its owner counts."""
    folder = shared / "config" / "gpualert"
    (folder / "..data").mkdir(parents=True)
    (folder / "..data" / "config.toml").write_text("grace = 1\n")
    os.chown(folder / "..data" / "config.toml", owner, owner)
    (folder / "config.toml").symlink_to("..data/config.toml")
    for path in (folder, folder / "..data"):
        path.chmod(0o777)
    assert run_as(here, NOBODY, shared) == REFUSED
    mounted = ("unshare", "--mount", "sh", "-ec", READ_ONLY, str(folder))
    assert run_as(here, NOBODY, shared, *mounted) == status
