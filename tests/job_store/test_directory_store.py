"""Tests of stores in a directory: rights, links, owners, disks, and the death of writers."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.errors import StoreError
from gpualert_common.job_store import open_store
from gpualert_common.job_store.trial import try_store
from gpualert_common.notify.isolation import NoAnswerError, run_isolated
from tests.faults.conftest import freeze, real_disk
from tests.job_store.concurrency import fork, race
from tests.supervised import until

__all__ = ["real_disk"]

PATH = "slurm-17/digests/a.json"


@pytest.fixture
def open_umask() -> Iterator[None]:
    """A umask that takes no rights away."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(top: Path) -> list[int]:
    """Return the modes of the folders and the file of ``PATH``."""
    paths = (top / "slurm-17", top / "slurm-17/digests", top / PATH)
    return [stat.S_IMODE(path.stat().st_mode) for path in paths]


@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("mode", [0o755, 0o777, 0o1777, 0o770, 0o2777])
def test_private_by_default(tmp_path: Path, mode: int) -> None:
    """Folders and files are for their owner alone, whatever the umask and the job directory."""
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs").chmod(mode)
    open_store(str(tmp_path / "jobs")).write(PATH, b"x")
    inherited = mode & 0o2000
    assert modes(tmp_path / "jobs") == [0o700 | inherited, 0o700 | inherited, 0o600]


def test_shared_by_a_group(tmp_path: Path) -> None:
    """A directory that passes its group on is one of that group, whatever the umask."""
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs").chmod(0o2770)
    before = os.umask(0o077)
    try:
        store = open_store(str(tmp_path / "jobs"))
        store.write(PATH, b"x")
        store.create("slurm-17/alerts/1.json", b"x")
    finally:
        os.umask(before)
    assert modes(tmp_path / "jobs") == [0o2770, 0o2770, 0o660]
    claim = tmp_path / "jobs/slurm-17/alerts/1.json"
    assert stat.S_IMODE(claim.stat().st_mode) == 0o660


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A link in the place of a folder or a file is not followed, read, listed or written to."""
    store = open_store(str(tmp_path / "jobs"))
    store.write(PATH, b"x")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.json").write_text("secret")
    digests = tmp_path / "jobs/slurm-17/digests"
    (digests / "b.json").symlink_to(outside / "secret.json")
    (tmp_path / "jobs/linked").symlink_to(outside)
    assert store.read("slurm-17/digests/b.json", 100) is None
    assert [file.name for file in store.list_files("slurm-17/digests")] == ["a.json"]
    assert store.create("slurm-17/digests/b.json", b"y") is False
    store.write("slurm-17/digests/b.json", b"y")
    assert store.read("slurm-17/digests/b.json", 100) == b"y"
    assert (outside / "secret.json").read_text() == "secret"
    assert store.read("linked/secret.json", 100) is None
    assert store.list_files("linked") == []
    assert store.list_folders("") == ["slurm-17"]
    with pytest.raises(StoreError, match=r"write linked/x\.json"):
        store.write("linked/x.json", b"x")
    store.remove_folder("slurm-17")
    assert (outside / "secret.json").exists()


def test_no_regular_file(tmp_path: Path) -> None:
    """A pipe, a device's place or a folder counts as a missing file, at once."""
    store = open_store(str(tmp_path / "jobs"))
    store.write(PATH, b"x")
    digests = tmp_path / "jobs/slurm-17/digests"
    os.mkfifo(digests / "pipe.json")
    (digests / "folder.json").mkdir()
    assert store.read("slurm-17/digests/pipe.json", 100) is None
    assert store.read("slurm-17/digests/folder.json", 100) is None
    assert [file.name for file in store.list_files("slurm-17/digests")] == ["a.json"]


def test_killed_writer(tmp_path: Path) -> None:
    """A writer that is killed at any moment leaves the old file or the new one, and no other."""
    store = open_store(str(tmp_path / "jobs"))
    store.write(PATH, b"0" * 50_000)
    for turn in range(10):
        writer = fork(lambda: _write_forever(str(tmp_path / "jobs")))
        until(lambda: store.read(PATH, 1) == b"1", "the writer")
        time.sleep(turn * 0.0007)  # a different moment of the write each time
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        data = store.read(PATH, 1 << 20)
        assert data in (b"0" * 50_000, b"1" * 50_000)
        assert [file.name for file in store.list_files("slurm-17/digests")] == ["a.json"]
        store.write(PATH, b"0" * 50_000)


def _write_forever(place: str) -> None:
    store = open_store(place)
    while True:
        store.write(PATH, b"1" * 50_000)


def test_removed_while_in_use(tmp_path: Path) -> None:
    """A job directory that is removed while it is used is made again, or named in the error."""
    place = tmp_path / "jobs"
    store = open_store(str(place))
    writer = fork(lambda: _write_on(str(place), tmp_path / "stop"))
    for _turn in range(30):
        until(place.exists, "the job directory")
        shutil.rmtree(place, ignore_errors=True)
    (tmp_path / "stop").touch()
    assert os.waitpid(writer, 0)[1] == 0
    assert store.read(PATH, 100) == b"last"


def _write_on(place: str, stop: Path) -> None:
    store = open_store(place)
    while not stop.exists():
        try:
            store.write(PATH, b"x")
            store.create("slurm-17/alerts/1.json", b"x")
            store.list_files("slurm-17/digests")
        except StoreError as error:
            assert place in str(error)  # noqa: PT017 - most calls do not raise
    store.write(PATH, b"last")


def test_missing_directory(tmp_path: Path) -> None:
    """A directory that does not exist is an error that names it, also of a parent that is lost."""
    with pytest.raises(StoreError, match="cannot list it: No such file"):
        open_store(str(tmp_path / "none")).list_folders("")
    with pytest.raises(StoreError, match=r"cannot write .*: No such file"):
        open_store(str(tmp_path / "none/none")).write(PATH, b"x")
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="Not a directory"):
        open_store(str(tmp_path / "file")).write(PATH, b"x")


def test_file_url(tmp_path: Path) -> None:
    """``file://`` and a path are the same place."""
    open_store(f"file://{tmp_path}/jobs").write(PATH, b"x")
    assert open_store(f"{tmp_path}/jobs/").read(PATH, 9) == b"x"


def test_foreign_names(tmp_path: Path) -> None:
    """Hidden files and names with control characters are not listed."""
    store = open_store(str(tmp_path / "jobs"))
    store.write(PATH, b"x")
    digests = tmp_path / "jobs/slurm-17/digests"
    for name in (b".nfs000012", b"a\x1b[2J", b"\xff\xfe.json"):
        Path(os.fsdecode(os.fsencode(digests) + b"/" + name)).touch()
    assert [file.name for file in store.list_files("slurm-17/digests")] == ["a.json"]


@pytest.mark.e2e
def test_one_creator_of_many(tmp_path: Path) -> None:
    """Of 64 processes that create one name at the same time, exactly one succeeds, 200 times."""
    assert race(str(tmp_path / "jobs"), 64, 200) == [1] * 200


# -- with root -----------------------------------------------------------------------------


def _as_user(uid: int, place: Path, path: str) -> str:
    """Return the error of a user that writes a file, "" for none."""
    code = (
        "import sys\n"
        "from gpualert_common.errors import StoreError\n"
        "from gpualert_common.job_store import open_store\n"
        "try: open_store(sys.argv[1]).write(sys.argv[2], b'x')\n"
        "except StoreError as error: print(error)\n"
    )
    import sys

    options = (f"--reuid={uid}", f"--regid={uid}", "--clear-groups")
    command = ("setpriv", *options, sys.executable, "-c", code, str(place), path)
    root = Path(__file__).parents[2]
    return subprocess.run(
        command, capture_output=True, check=True, text=True, cwd=root
    ).stdout.strip()


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """A job directory that all users can write to, as /scratch."""
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):
        folder.chmod(folder.stat().st_mode | 0o011)
    place = tmp_path / "jobs"
    place.mkdir()
    place.chmod(0o1777)
    return place


@pytest.mark.e2e
def test_folder_of_another_user(public: Path) -> None:
    """A job's folder that another user made first is not used, and the error names that user."""
    trap = public / "slurm-17"
    trap.mkdir()
    trap.chmod(0o777)
    os.chown(trap, 4321, 4321)
    error = _as_user(1234, public, PATH)
    assert "belongs to user 4321" in error
    assert _as_user(4321, public, PATH) == ""


@pytest.mark.e2e
def test_file_of_another_user(public: Path) -> None:
    """A file of a user who does not own the job's folder counts as missing."""
    assert _as_user(1234, public, PATH) == ""
    forged = public / "slurm-17/digests/forged.json"
    forged.write_text("{}")
    store = open_store(str(public))
    assert store.read("slurm-17/digests/forged.json", 9) == b"{}"  # of root
    os.chown(forged, 4321, 4321)
    assert store.read("slurm-17/digests/forged.json", 9) is None
    assert [file.name for file in store.list_files("slurm-17/digests")] == ["a.json"]


@pytest.mark.e2e
def test_private_to_other_users(public: Path) -> None:
    """A user cannot see the job of another one, and is told so."""
    assert _as_user(1234, public, PATH) == ""
    assert "Permission denied" in _as_user(4321, public, PATH)


@pytest.mark.e2e
def test_full_disk(tmp_path: Path) -> None:
    """A write on a full disk is an error; the old file stays whole, and nothing else is left."""
    disk = tmp_path / "disk"
    disk.mkdir()
    options = ("-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk))
    subprocess.run(("mount", *options), check=True)
    try:
        store = open_store(str(disk / "jobs"))
        store.write(PATH, b"old" * 2000)
        (disk / "filler").write_bytes(b"x" * 32_000)
        with pytest.raises(StoreError, match="No space left"):
            store.write(PATH, b"new" * 20_000)
        with pytest.raises(StoreError, match="No space left"):
            store.create("slurm-17/digests/b.json", b"new" * 20_000)
        assert store.read(PATH, 1 << 20) == b"old" * 2000
        assert os.listdir(disk / "jobs/slurm-17/digests") == ["a.json"]
        (disk / "filler").unlink()
        store.write(PATH, b"new")
        subprocess.run(("mount", "-o", "remount,ro", str(disk)), check=True)
        with pytest.raises(StoreError, match="Read-only"):
            store.write(PATH, b"newer")
        assert store.read(PATH, 100) == b"new"
    finally:
        subprocess.run(("umount", str(disk)), check=True)


@pytest.mark.e2e
def test_frozen_disk(real_disk: Path) -> None:
    """A trial on a disk that hangs has a result by its deadline, in a process of its own."""
    place = str(real_disk / "jobs")
    assert run_isolated(lambda: try_store(place, 1.0), 5.0).problem == ""
    freeze(real_disk)
    began = time.monotonic()
    with pytest.raises(NoAnswerError, match="1 s"):
        run_isolated(lambda: try_store(place, 1.0), 1.0)
    assert time.monotonic() - began < 6
