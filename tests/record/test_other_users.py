"""Attacks of another user of the machine on the directories of a user's runs.

The victim is root, the attacker user 65534.  Each attack prepares files as the attacker, before the
victim's first command or between two of them.  Then the victim runs a command and reads records.
The victim's own files do not change, nothing is written into a directory of the attacker, and
every command does its work.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpualert_common import record_locations
from tests.record import hostile_database
from tests.supervised import Lab, shell

pytestmark = pytest.mark.e2e

ATTACKER = 65534
AS_ATTACKER = ("setpriv", "--reuid", str(ATTACKER), "--regid", str(ATTACKER), "--clear-groups")


class Scene:
    """Directories of an attack.

    ``shared`` is writable by all, with the sticky bit, as /tmp; ``own`` is a directory of the
    victim with a file ``precious``; ``stolen`` is a directory of the attacker, writable by all.
    """

    def __init__(self, lab: Lab, root: Path) -> None:
        self.lab = lab
        self.shared = root / "shared"
        self.own = root / "own"
        self.stolen = root / "stolen"
        self.shared.mkdir()
        self.shared.chmod(0o1777)
        self.own.mkdir(0o700)
        (self.own / "precious").write_text("checkpoint\n")
        self.attack('mkdir "$1"; chmod 777 "$1"', root / "shared" / "stolen")
        os.rename(self.shared / "stolen", self.stolen)

    def attack(self, code: str, *arguments: str | Path) -> None:
        """Run shell code as the attacker."""
        command = (*AS_ATTACKER, *shell(code), "sh", *map(str, arguments))
        done = subprocess.run(command, cwd="/", capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()

    def plant_database(self, place: Path) -> None:
        """Put a history into a directory as the attacker; reading it would remove ``precious``."""
        database = place / "history.sqlite3"
        hostile_database.write(str(database), str(self.own / "precious"))
        for path in (database, Path(f"{database}-journal")):
            os.chown(path, ATTACKER, ATTACKER)

    def state(self) -> tuple[dict[str, str], list[str]]:
        """Return the victim's own files with their content, and its files among the attacker's."""
        own = {
            str(path): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in self.own.rglob("*")
            if path.is_file()
        }
        foreign = [path for path in [*self.shared.iterdir(), self.stolen] if _is_foreign(path)]
        planted = [
            str(path)
            for folder in foreign
            for path in [folder, *(folder.rglob("*") if not folder.is_symlink() else ())]
            if not _is_foreign(path)
        ]
        return own, planted


def _is_foreign(path: Path) -> bool:
    return path.lstat().st_uid == ATTACKER


@pytest.fixture
def scene(lab: Lab) -> Iterator[Scene]:
    """Return the directories, which the attacker can reach: those of pytest are closed to it."""
    with tempfile.TemporaryDirectory(prefix="gpualert-test-") as root:
        Path(root).chmod(0o755)
        yield Scene(lab, Path(root))


SquattedAttack = Callable[[Scene, Path], None]


def _temporary_directory_with_a_journal(scene: Scene, squatted: Path) -> None:
    scene.attack('mkdir -p "$1/runs"; chmod 755 "$1" "$1/runs"', squatted)
    scene.plant_database(squatted)


def _link_named_runs(scene: Scene, squatted: Path) -> None:
    scene.attack('mkdir "$1"; ln -s "$2" "$1/runs"', squatted, scene.own)
    scene.plant_database(squatted)


def _link_to_a_directory_of_the_victim(scene: Scene, squatted: Path) -> None:
    scene.attack('ln -s "$2" "$1"', squatted, scene.own)


def _link_to_a_directory_of_the_attacker(scene: Scene, squatted: Path) -> None:
    scene.attack('mkdir "$2/runs"; ln -s "$2" "$1"', squatted, scene.stolen)
    scene.plant_database(scene.stolen)


def _writable_by_all(scene: Scene, squatted: Path) -> None:
    scene.attack('mkdir -p "$1/runs" "$1/undelivered"; chmod -R 777 "$1"', squatted)


def _mailbox(scene: Scene, squatted: Path) -> None:
    code = 'cd "$1" && mkdir tmp new cur && cd .. && mkdir -p "$2/runs" && ln -s "$1" "$2/mailbox"'
    scene.attack(f"{code} && chmod 777 $1/*", scene.stolen, squatted)


def _outbox_link(scene: Scene, squatted: Path) -> None:
    code = 'mkdir -p "$1/runs"; ln -s "$2" "$1/undelivered"; ln -s "$2" "$1/history.waiting"'
    scene.attack(code, squatted, scene.own)


def _pipes(scene: Scene, squatted: Path) -> None:
    code = 'mkdir "$1"; mkfifo "$1/history.sqlite3" "$1/history.lock" "$1/runs"; chmod 666 "$1"/*'
    scene.attack(code, squatted)


def _file(scene: Scene, squatted: Path) -> None:
    scene.attack('echo no > "$1"', squatted)


SQUATTED = (
    _temporary_directory_with_a_journal,
    _link_named_runs,
    _link_to_a_directory_of_the_victim,
    _link_to_a_directory_of_the_attacker,
    _writable_by_all,
    _mailbox,
    _outbox_link,
    _pipes,
    _file,
)
attacks = pytest.mark.parametrize("attack", SQUATTED, ids=lambda attack: attack.__name__[1:])


@attacks
def test_squatted_fallback(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, attack: SquattedAttack
) -> None:
    """The attacker takes the name of the last fallback, in the directory for temporary files."""
    lab = scene.lab
    monkeypatch.setenv("TMPDIR", str(scene.shared))
    squatted = _stand_in(scene.shared / "gpualert-0", lab.state)
    attack(scene, squatted)
    _run_and_read(scene, lab.state, str(squatted))


@attacks
def test_squatted_folder_of_a_shared_directory(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, attack: SquattedAttack
) -> None:
    """The attacker takes the name of the victim's folder in a state directory of several users."""
    monkeypatch.setenv("GPUALERT_STATE_DIR", str(scene.shared))
    attack(scene, scene.shared / "user-0")
    _run_and_read(scene, _stand_in(_user_place(scene), scene.shared), str(scene.shared))


@pytest.mark.parametrize("name", ["", "runs"])
def test_shared_state_directory(scene: Scene, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Files of the attacker in a state directory of several users are never read."""
    monkeypatch.setenv("GPUALERT_STATE_DIR", str(scene.shared))
    _temporary_directory_with_a_journal(scene, scene.shared / "planted")
    for one in ("history.sqlite3", "history.sqlite3-journal"):
        os.rename(scene.shared / "planted" / one, scene.shared / one)
    code = 'cd "$1"; mkdir -p keys undelivered mailbox/tmp mailbox/new mailbox/cur; chmod -R 777 *'
    scene.attack(f"{code} 2>/dev/null; true", scene.shared)
    if name:
        scene.attack('mkdir "$1"; chmod 777 "$1"', scene.shared / name)
    _run_and_read(scene, scene.shared / "user-0", None)


def test_state_directory_of_the_attacker(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configured directory of another user is refused, even if its folders are the victim's."""
    monkeypatch.setenv("GPUALERT_STATE_DIR", str(scene.stolen))
    (scene.stolen / "runs").mkdir(0o700)
    scene.plant_database(scene.stolen)
    (scene.stolen / "runs").rmdir()
    _run_and_read(scene, _stand_in(_user_place(scene), scene.stolen), str(scene.stolen))


def test_ids_stay_unique(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of the attacker with the ids of the victim's runs do not make the ids ambiguous."""
    lab = scene.lab
    monkeypatch.setenv("TMPDIR", str(scene.shared))
    assert lab.run("true").returncode == 0
    name = lab.records()[0].name
    squatted = _stand_in(scene.shared / "gpualert-0", lab.state)
    scene.attack('mkdir -p "$1/runs/$2" "$1/runs/$2-x"', squatted, name)
    for command, status in (("show", 0), ("follow", 0), ("stop", 1)):  # it has ended already
        done = lab.gpualert(command, name[:20])
        assert done.returncode == status, done.stderr.decode()
        assert b"is not read" in done.stderr


def test_journal_of_the_attacker_in_an_own_directory(scene: Scene) -> None:
    """A database or journal of another user is refused before SQLite opens it."""
    lab = scene.lab
    assert lab.run("true").returncode == 0
    for database in ("history", "listing"):
        planted = scene.shared / database
        _temporary_directory_with_a_journal(scene, planted)
        for suffix in (".sqlite3", ".sqlite3-journal"):
            os.rename(planted / f"history{suffix}", lab.state / f"{database}{suffix}")
    before = scene.state()
    done = lab.gpualert("runs")
    assert done.returncode == 0
    assert f"belongs to user {ATTACKER}".encode() in done.stderr
    assert lab.run("true").returncode == 0
    assert len(lab.json("runs")["runs"]) == 2
    os.unlink(lab.state / "listing.sqlite3")
    assert lab.gpualert("runs").returncode == 0, "a journal alone"
    assert scene.state() == before


def _user_place(scene: Scene) -> Path:
    return scene.lab.home / "xdg-state" / "gpualert"


def _stand_in(default: Path, chosen: Path) -> Path:
    """Return the directory that stands in for ``chosen``, named after a default one."""
    names = record_locations.list_state_dirs(str(chosen))
    return next(Path(name) for name in names if name.startswith(f"{default}-"))


def _run_and_read(scene: Scene, place: Path, refused: str | None) -> None:
    """Run a command that fails, and read it; the record is in ``place``."""
    lab = scene.lab
    before = scene.state()
    alerts = ("--notify", "mailbox", "--notify-on", "always")
    done = lab.gpualert("run", *alerts, "--", *shell("echo hello; exit 3"))
    assert done.returncode == 3, done.stderr.decode()
    assert len(list((place / "runs").iterdir())) == 1
    assert len(list((place / "mailbox" / "new").iterdir())) == 1
    for command in (
        ("runs",),
        ("runs",),
        ("show", "last"),
        ("outbox", "list"),
        ("recover",),
        ("stop",),
        ("follow", "last"),
    ):
        done = lab.gpualert(*command)
        assert done.returncode in (0, 1, 3), (command, done.stderr.decode())
        named = done.stderr.decode().count(f"gpualert: {refused} is not read: ")
        assert named == (refused is not None), (command, done.stderr.decode())
    (row,) = json.loads(lab.gpualert("runs", "--json").stdout)["runs"]
    assert row["exit_code"] == 3
    assert scene.state() == before
