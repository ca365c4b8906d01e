"""Places that another user prepared are not used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpualert_common import record_locations
from tests.supervised import Lab, shell

pytestmark = pytest.mark.e2e

STRANGER = 4242


@pytest.fixture
def temporary(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place under TMPDIR, which is the last one."""
    file = lab.script("file", "")
    monkeypatch.setenv("GPUALERT_STATE_DIR", file)
    monkeypatch.setenv("XDG_STATE_HOME", file)
    (lab.home / "tmp").chmod(0o1777)
    return Path(list(record_locations.list_state_dirs(file))[-1])


def refused(lab: Lab, place: Path) -> None:
    """Assert that nothing is launched, and that this place is among those tried."""
    done = lab.run("touch", str(lab.home / "launched"))
    assert done.returncode == 125
    assert f"\n  {place}: ".encode() in done.stderr
    assert not (lab.home / "launched").exists()


def test_own_temporary_place_is_used(lab: Lab, temporary: Path) -> None:
    """A missing place is created, and used again by the next run."""
    assert lab.run(*shell("exit 3")).returncode == 3
    assert lab.run(*shell("exit 3")).returncode == 3
    assert len(list(temporary.glob("runs/*/exit.json"))) == 2


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o777, 0o1777])
def test_place_of_another_user(lab: Lab, temporary: Path, mode: int) -> None:
    """A directory of another user is not used, with any mode."""
    temporary.mkdir()
    temporary.chmod(mode)
    os.chown(temporary, STRANGER, STRANGER)
    refused(lab, temporary)
    assert not list(temporary.rglob("*.log"))


def test_link_of_another_user(lab: Lab, temporary: Path) -> None:
    """A link of another user is not followed."""
    target = lab.home / "target"
    target.mkdir()
    temporary.symlink_to(target)
    os.lchown(temporary, STRANGER, STRANGER)
    refused(lab, temporary)
    assert not list(target.rglob("*.log"))


def test_configured_place_that_is_open_to_all(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, temporary: Path
) -> None:
    """A configured directory of another user that is open to all is skipped."""
    place = lab.home / "open"
    place.mkdir()
    place.chmod(0o1777)
    os.chown(place, STRANGER, STRANGER)
    monkeypatch.setenv("GPUALERT_STATE_DIR", str(place))
    done = lab.run(*shell("exit 3"))
    assert done.returncode == 3
    assert f"gpualert: no log at {place}: ".encode() in done.stderr
    assert list(temporary.parent.glob("gpualert-*/runs/*/exit.json"))


@pytest.mark.parametrize("command", ["show", "follow", "stop", "recover"])
def test_record_of_another_user(lab: Lab, command: str) -> None:
    """A record of another user is not trusted, by any command."""
    lab.run("true")
    (path,) = lab.records()
    os.chown(path, STRANGER, STRANGER)
    done = lab.gpualert(command, str(path))
    assert done.returncode == 2
    assert f"belongs to user {STRANGER}, not to you".encode() in done.stderr


def test_record_of_another_user_is_not_listed(lab: Lab) -> None:
    """Records of other users are not listed."""
    lab.run("true")
    os.chown(lab.records()[0], STRANGER, STRANGER)
    assert lab.json("runs")["runs"] == []
