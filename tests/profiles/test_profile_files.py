"""Profiles in the record: complete or not at all, bounded, and damaged ones are left out."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.profiles.profile import Profile
from gpualert_common.profiles.profile_files import (
    MOST_PROFILES,
    PICTURE,
    PROFILE,
    PROFILES,
    SPEEDSCOPE,
    read_profiles,
    store_profile,
)
from gpualert_common.record import Record
from gpualert_common.removal import remove_record
from gpualert_common.structs import replace
from tests.profiles.composed_profiles import COMPUTING, LOADING, WAITING, make_profile
from tests.scenarios.scene import Scene

Part = dict[str, Any]
SOUND = make_profile({LOADING: 40, WAITING: 60}, {COMPUTING: 200})


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    """Return the record of a run."""
    runs = tmp_path / "runs"
    runs.mkdir(mode=0o700)
    made = Scene(code=0, seconds=30.0).record(runs)
    yield made
    made.close()


def list_stored(record: Record) -> list[Profile]:
    """Return the profiles of the record, newest first."""
    return [profile for _path, profile in read_profiles(record)]


def test_files(record: Record) -> None:
    """A profile has its data, a picture and a file for speedscope, for this user only."""
    path = Path(store_profile(record, SOUND))
    assert sorted(one.name for one in path.iterdir()) == [PICTURE, PROFILE, SPEEDSCOPE]
    assert {one.stat().st_mode & 0o777 for one in (path, path.parent)} == {0o700}
    assert {one.stat().st_mode & 0o777 for one in path.iterdir()} == {0o600}
    assert list_stored(record) == [SOUND]
    assert json.loads(gzip.decompress((path / SPEEDSCOPE).read_bytes()))["profiles"]


def test_limit(record: Record) -> None:
    """A further profile takes the place of the oldest one, also where the clock was set back."""
    taken = [replace(SOUND, at=SOUND.at + number) for number in range(MOST_PROFILES + 2)]
    for one in taken:
        store_profile(record, one)
    assert list_stored(record) == taken[: -MOST_PROFILES - 1 : -1]
    assert len(os.listdir(Path(record.path) / PROFILES)) == MOST_PROFILES
    path = store_profile(record, replace(SOUND, at=SOUND.at - 3600))
    assert os.path.exists(path)
    assert len(list_stored(record)) == MOST_PROFILES


def test_unfinished_profiles(record: Record) -> None:
    """A folder that a killed process left is removed, and not one that a process writes now."""
    folder = Path(record.path) / PROFILES
    ended = subprocess.Popen(["true"])
    ended.wait()
    for pid in (ended.pid, os.getppid()):
        (folder / f".20260101T000000.{pid}").mkdir(parents=True, mode=0o700)
    path = Path(store_profile(record, SOUND))
    assert sorted(os.listdir(folder)) == [f".20260101T000000.{os.getppid()}", path.name]


def test_no_room(record: Record) -> None:
    """A profile that cannot be written is an error, and leaves nothing."""
    (Path(record.path) / PROFILES).write_text("")
    with pytest.raises(OSError, match="not a directory"):
        store_profile(record, SOUND)
    assert list_stored(record) == []


@pytest.mark.e2e
def test_full_disk(record: Record) -> None:
    """On a full disk nothing of a profile is left, the older ones stay, and the next one finds its
    place again."""
    folder = Path(record.path) / PROFILES
    folder.mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "none", folder], check=True)
    try:
        taken = [replace(SOUND, at=SOUND.at + number) for number in range(MOST_PROFILES + 1)]
        for one in taken[:-1]:
            store_profile(record, one)
        older = list_stored(record)
        filler = folder / ".filler"
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass
        with pytest.raises(OSError, match="No space left on device"):
            store_profile(record, taken[-1])
        assert list_stored(record) == older == taken[-2::-1]
        assert len(os.listdir(folder)) == MOST_PROFILES + 1
        filler.unlink()
        store_profile(record, taken[-1])
        assert list_stored(record) == taken[:0:-1]
    finally:
        subprocess.run(["umount", folder], check=True)


def test_removal(record: Record) -> None:
    """A record that is removed takes its profiles with it."""
    path = store_profile(record, SOUND)
    record.close()
    remove_record(Record.open(record.path), force=True)
    assert not os.path.exists(path)


def test_link(record: Record, tmp_path: Path) -> None:
    """A link in place of the folder is not followed."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (Path(record.path) / PROFILES).symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"."):
        store_profile(record, SOUND)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"\xff\0",
        b'{"schema": 1, "ranks": []}',
        b'{"schema": 99}',
        b"[" * 100_000,
    ],
    ids=["empty", "object", "bytes", "no_ranks", "newer", "deep"],
)
def test_damaged_profile(record: Record, content: bytes) -> None:
    """A damaged profile is as if it were missing, and the older one is shown."""
    store_profile(record, SOUND)
    newer = Path(store_profile(record, replace(SOUND, at=SOUND.at + 60)))
    (newer / PROFILE).write_bytes(content)
    assert list_stored(record) == [SOUND]


@pytest.mark.parametrize(
    "change",
    [
        lambda _tree, node: node.update(parent=1),
        lambda _tree, node: node.update(frame=1000),
        lambda _tree, node: node["counts"].pop(),
        lambda _tree, node: node.update(counts=[10**30, 0]),
        lambda _tree, node: node.update(counts=[-5, 0]),
        lambda tree, _node: tree.update(samples=[]),
    ],
    ids=["parent", "frame", "counts", "more", "negative", "samples"],
)
def test_contradictions(record: Record, change: Callable[[Part, Part], None]) -> None:
    """Numbers that contradict each other are damage."""
    path = Path(store_profile(record, SOUND)) / PROFILE
    value = json.loads(path.read_bytes())
    tree = value["trees"][0]
    node = tree["nodes"][1]
    change(tree, node)
    path.write_text(json.dumps(value))
    assert list_stored(record) == []
