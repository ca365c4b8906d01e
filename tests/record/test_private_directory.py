"""State directories that count: those that no other user can change, by a path nobody redirects.

The attacks of a second user are in test_other_users.py.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from gpualert_common import record_locations
from gpualert_common.record.files import open_lock
from gpualert_common.record.private_directory import (
    find_other_writers,
    make_folder,
    open_folder,
    open_private,
    resolve_state_dir,
)
from tests.supervised import PROGRAM, Lab, shell

SHARED = 0o1777


def _own(home: Path) -> tuple[Path, Path]:
    (home / "own").mkdir(0o700)
    return home / "own", home / "own"


def _readable(home: Path) -> tuple[Path, Path]:
    (home / "own").mkdir(0o755)
    return home / "own", home / "own"


def _missing(home: Path) -> tuple[Path, Path]:
    return home / "a" / "b" / "c", home / "a" / "b" / "c"


def _shared_with_all(home: Path) -> tuple[Path, Path]:
    (home / "shared").mkdir()
    (home / "shared").chmod(SHARED)
    return home / "shared", home / "shared" / f"user-{os.geteuid()}"


def _missing_in_a_shared_one(home: Path) -> tuple[Path, Path]:
    _shared_with_all(home)
    return home / "shared" / "mine", home / "shared" / "mine"


def _own_link(home: Path) -> tuple[Path, Path]:
    (home / "scratch").mkdir(0o700)
    (home / "link").symlink_to("scratch")
    return home / "link", home / "scratch"


def _links_to_links(home: Path) -> tuple[Path, Path]:
    (home / "scratch" / "deep").mkdir(0o700, parents=True)
    (home / "one").symlink_to(home / "two")
    (home / "two").symlink_to("scratch/deep/../deep")
    return home / "one" / "." / "..", home / "scratch"


@pytest.mark.parametrize(
    "make",
    [
        _own,
        _readable,
        _missing,
        _shared_with_all,
        _missing_in_a_shared_one,
        _own_link,
        _links_to_links,
    ],
    ids=lambda make: make.__name__.strip("_"),
)
def test_accepted(tmp_path: Path, make: Callable[[Path], tuple[Path, Path]]) -> None:
    """The directory for this user's files: without links, and its own folder in a shared one."""
    given, expected = make(tmp_path)
    assert resolve_state_dir(str(given)) == str(expected)


def _writable_by_all(home: Path) -> tuple[Path, str]:
    (home / "open").mkdir()
    (home / "open").chmod(0o777)
    return home / "open", "is writable by all users, without the sticky bit"


def _in_one_writable_by_all(home: Path) -> tuple[Path, str]:
    given, why = _writable_by_all(home)
    (given / "mine").mkdir(0o700)
    return given / "mine", why


def _missing_in_one_writable_by_all(home: Path) -> tuple[Path, str]:
    given, why = _writable_by_all(home)
    return given / "a" / "b", why


def _file(home: Path) -> tuple[Path, str]:
    (home / "file").write_text("")
    return home / "file", "Not a directory"


def _below_a_file(home: Path) -> tuple[Path, str]:
    _file(home)
    return home / "file" / "state", "Not a directory"


def _circle_of_links(home: Path) -> tuple[Path, str]:
    (home / "one").symlink_to("two")
    (home / "two").symlink_to("one")
    return home / "one", "Too many levels of symbolic links"


@pytest.mark.parametrize(
    "make",
    [
        _writable_by_all,
        _in_one_writable_by_all,
        _missing_in_one_writable_by_all,
        _file,
        _below_a_file,
        _circle_of_links,
    ],
    ids=lambda make: make.__name__.strip("_"),
)
def test_refused(lab: Lab, make: Callable[[Path], tuple[Path, str]]) -> None:
    """A refused directory is named with the reason; nothing is launched, read or written there."""
    given, why = make(lab.home)
    before = _names_below(lab.home)
    command = ("run", "--state-dir", str(given), "--", "touch", "launched")
    done = lab.gpualert(*command)
    assert done.returncode == 125
    assert why in done.stderr.decode()
    done = lab.gpualert("runs", "--state-dir", str(given))
    assert done.returncode == 2
    assert done.stderr.decode().count(why) == 1
    assert _names_below(lab.home) == before


def _names_below(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*")}


def test_link_named_runs(lab: Lab) -> None:
    """A link in place of the folder of records is refused, whatever it names."""
    (lab.home / "elsewhere").mkdir(0o700)
    (lab.home / "linked").mkdir(0o700)
    (lab.home / "linked" / "runs").symlink_to("../elsewhere")
    done = lab.gpualert("run", "--state-dir", str(lab.home / "linked"), "--", "true")
    assert done.returncode == 125
    assert b"linked" in done.stderr
    done = lab.gpualert("runs", "--state-dir", str(lab.home / "linked"))
    assert done.stderr.count(b"is not read") == 1
    assert list((lab.home / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("flag", [True, False])
def test_explicit_directory_stands_for_no_other(lab: Lab, flag: bool) -> None:
    """With ``--state-dir`` only that directory is read, not the configured one."""
    assert lab.gpualert("run", "--", "true").returncode == 0
    options = ("--state-dir", str(lab.home / "other")) if flag else ()
    assert len(lab.json("runs", *options)["runs"]) == (0 if flag else 1)
    done = lab.gpualert("show", "last", *options)
    assert done.returncode == (2 if flag else 0)
    if flag:
        assert f"no run yet in {lab.home}/other/runs;".encode() in done.stderr


def test_directory_by_two_names_is_listed_once(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in a directory that has two names is one run."""
    assert lab.run("true").returncode == 0
    _chosen, stand_in, *_ = record_locations.list_state_dirs(str(lab.state))
    Path(stand_in).parent.mkdir()
    Path(stand_in).symlink_to(lab.state)
    assert len(lab.json("runs")["runs"]) == 1
    assert lab.gpualert("show", lab.records()[0].name[:15]).returncode == 0


def test_shared_directory(lab: Lab) -> None:
    """In a directory that all may write to, a user's files are in a folder of that user."""
    _shared_with_all(lab.home)
    options = ("--state-dir", str(lab.home / "shared"))
    notify = ("--notify", "mailbox", "--notify-on", "always")
    done = lab.gpualert("run", *options, *notify, "--", *shell("exit 3"))
    assert done.returncode == 3
    (own,) = (lab.home / "shared").iterdir()
    assert own.name == f"user-{os.geteuid()}"
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert len(list((own / "runs").iterdir())) == 1
    assert len(list((own / "mailbox" / "new").iterdir())) == 1
    (row,) = lab.json("runs", *options)["runs"]
    assert row["exit_code"] == 3


def _add_group(place: Path) -> None:
    """Give the group all that the owner has, as Kubernetes' ``fsGroup`` does at each mount."""
    for path in (place, *place.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | (mode & 0o700) >> 3 | (stat.S_ISGID if path.is_dir() else 0))


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
def test_group_that_a_mount_adds(lab: Lab, shared: bool) -> None:
    """A volume whose files become writable by a group keeps its records, and is private again."""
    if shared:
        _shared_with_all(lab.home)
    given = lab.home / "shared" if shared else lab.state
    place = given / f"user-{os.geteuid()}" if shared else given
    notify = ("--notify", "mailbox", "--notify-on", "always")
    for runs in (1, 2, 3):
        done = lab.gpualert("run", "--state-dir", str(given), *notify, "--", "true")
        assert done.returncode == 0, done.stderr.decode()
        assert len(list((place / "mailbox" / "new").iterdir())) == runs
        _add_group(place)
        assert len(lab.json("runs", "--state-dir", str(given))["runs"]) == runs
        assert not find_other_writers(place.stat())
        assert not find_other_writers((place / "runs").stat())
    (own,) = list(place.parent.iterdir()) if shared else [place]
    assert not list(own.glob("user-*"))


def test_directory_of_a_team(tmp_path: Path) -> None:
    """A directory without records keeps its mode: others of the group may use it too."""
    team = tmp_path / "team"
    team.mkdir()
    team.chmod(0o2770)
    is_shared = bool(find_other_writers(team.stat()))  # the group may have no other member
    own = team / f"user-{os.geteuid()}" if is_shared else team
    assert resolve_state_dir(str(team)) == str(own)
    assert stat.S_IMODE(team.stat().st_mode) == 0o2770


def test_record_that_a_mount_opened(lab: Lab) -> None:
    """A record that a group can write to is private once it is read."""
    assert lab.run("true").returncode == 0
    (record,) = lab.records()
    record.chmod(0o2770)
    assert lab.gpualert("show", str(record)).returncode == 0
    assert not find_other_writers(record.stat())


WRITERS: dict[str, tuple[int, str]] = {
    "owner": (0o700, ""),
    "readable": (0o755, ""),
    "all": (0o707, "is writable by others (mode 0707)"),
    "all, sticky": (SHARED, "is writable by others (mode 1777)"),
}


@pytest.mark.parametrize("case", WRITERS)
def test_other_writers(tmp_path: Path, case: str) -> None:
    """The mode of a directory decides whether other users can change it."""
    mode, expected = WRITERS[case]
    tmp_path.chmod(mode)
    assert find_other_writers(tmp_path.stat()) == expected
    if expected:
        with pytest.raises(PermissionError, match="is writable by others"):
            open_private(str(tmp_path))
    else:
        os.close(open_private(str(tmp_path)))


def test_group_with_other_members(tmp_path: Path) -> None:
    """A directory that a group can write to is shared, unless the group is this user's own."""
    tmp_path.chmod(0o770)
    own = find_other_writers(tmp_path.stat())
    status = list(tmp_path.stat())
    status[stat.ST_GID] = 4242  # a group that no database knows
    assert find_other_writers(os.stat_result(status)) == "is writable by others (mode 0770)"
    assert own in ("", "is writable by others (mode 0770)")


def test_folders(tmp_path: Path) -> None:
    """Folders are made for their owner alone; a link or a file in place of one is an error."""
    path = make_folder(str(tmp_path / "new"), "a", "b")
    assert path == str(tmp_path / "new" / "a" / "b")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    with pytest.raises(FileNotFoundError):
        open_folder(str(tmp_path / "new"), "c")
    (tmp_path / "new" / "link").symlink_to("a")
    (tmp_path / "new" / "file").write_text("")
    for name in ("link", "file"):
        with pytest.raises(OSError, match="is not a directory"):
            open_folder(str(tmp_path / "new"), name, create=True)


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_lock_file_of_another_kind(tmp_path: Path, kind: str) -> None:
    """A lock is a regular file: nothing is created through a link, and a pipe does not block."""
    path = tmp_path / "lock"
    target = tmp_path / "target"
    if kind == "link":
        path.symlink_to(target)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(OSError, match=r"symbolic links|not a file|Is a directory"):
        open_lock(str(path))
    assert not target.exists()


def test_program_starts_from_a_shared_directory(lab: Lab) -> None:
    """The working directory of the call is of no importance."""
    _shared_with_all(lab.home)
    done = lab.call((*PROGRAM, "run", "--", *shell("exit 3")), cwd=lab.home / "shared")
    assert done.returncode == 3
