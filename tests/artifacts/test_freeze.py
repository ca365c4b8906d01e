"""A bundle carries the files as they were frozen, whatever happened to them since."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpualert_common.artifacts import freeze as freezing
from gpualert_common.artifacts import freeze_program
from gpualert_common.artifacts.changes import TICK_NS
from gpualert_common.artifacts.freeze import FREEZE, LOCK, freeze, read_freeze
from gpualert_common.artifacts.frozen_file import COPIES
from gpualert_common.model import Artifact, Attachment, Fate
from gpualert_common.processes.program import program_command
from gpualert_common.record import EXIT, SPEC
from gpualert_common.spec import Ending
from tests.artifacts.workplace import TOKEN, Workplace
from tests.supervised import python, until

BEFORE = '{"loss": 1}\n'
AFTER = '{"loss": 9}\n'
"""Of the same length."""


def end_run(place: Workplace) -> None:
    """Write the end record: the run ends now, and what is written afterwards is later."""
    ending = Ending(place.record.spec.created_at, time.time())
    ending.code = 3
    place.record.write_json(EXIT, {**ending.to_json(), "survivors": []})
    probe = place.home / "probe"

    def has_ticked() -> bool:
        probe.write_text("")
        return probe.stat().st_ctime > time_of_end + 2 * TICK_NS / 1e9

    time_of_end = time.time()
    until(has_ticked, "the clock of the disk to pass the end")


def freeze_run(place: Workplace) -> None:
    """End the run and freeze its files, as a run does, in a process of its own."""
    end_run(place)
    request = json.dumps({"record": place.record.path}).encode()
    command = program_command(freeze_program.__name__)
    subprocess.run(command, input=request, check=True, timeout=30)
    until(lambda: place.record.has(FREEZE), "the freeze")
    until(lambda: not place.record.is_locked(LOCK), "its process to end")


def only(place: Workplace) -> tuple[Artifact, Attachment | None]:
    """Return the only row, and its attachment."""
    bundle = place.bundle()
    (row,) = bundle.artifacts
    return row, next(iter(bundle.attachments), None)


def replace_in_place(file: Path) -> None:
    """Write other bytes of the same length, and set the time back."""
    before = file.stat()
    file.write_text(AFTER)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by_rename(file: Path) -> None:
    """Put another file of the same length and time in its place."""
    before = file.stat()
    other = file.with_suffix(".tmp")
    other.write_text(AFTER)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(file)


def swap_by_link(file: Path) -> None:
    """Put a link to another file in its place."""
    other = file.with_suffix(".tmp")
    other.write_text(AFTER)
    file.unlink()
    file.symlink_to(other)


def swap_folder_by_link(file: Path) -> None:
    """Put a link to another folder in the place of its folder."""
    other = file.parent.parent / "other"
    other.mkdir()
    (other / file.name).write_text(AFTER)
    file.parent.rename(file.parent.with_name("moved"))
    file.parent.symlink_to(other)


def grow(file: Path) -> None:
    """Append to it."""
    with file.open("a") as out:
        out.write(AFTER)


def move_folder(file: Path) -> None:
    """Rename its folder."""
    file.parent.rename(file.parent.with_name("moved"))


def put_a_pipe(file: Path) -> None:
    """Put a named pipe in its place, which blocks a reader."""
    file.unlink()
    os.mkfifo(file)


CHANGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "replaced, same size and time": (replace_in_place, "it changed since"),
    "renamed over, same size and time": (replace_by_rename, "it changed since"),
    "grown": (grow, "it changed since"),
    "deleted": (Path.unlink, "it was removed since"),
    "folder moved": (move_folder, "it was removed since"),
    "swapped by a link": (swap_by_link, "it was replaced since"),
    "folder swapped by a link": (swap_folder_by_link, "it was replaced since"),
    "swapped by a pipe": (put_a_pipe, "it was replaced since"),
}


MOVES = (Path.unlink, move_folder, swap_folder_by_link)
"""Changes after which no later file is there: nothing, or the same file elsewhere."""


@pytest.mark.parametrize("case", CHANGES)
def test_copy_of_a_changed_file_is_sent(place: Workplace, case: str) -> None:
    """A file that changed since is sent from its copy, with the digest of that, and named so."""
    change, since = CHANGES[case]
    file = place.write("out/results.json", BEFORE)
    freeze_run(place)
    change(file)
    row, sent = only(place)
    assert sent is not None
    assert sent.content == BEFORE.encode()
    assert (row.fate, row.why) == (
        Fate.ATTACHED,
        f"from the copy made at the end of the run: {since}",
    )
    assert row.sha256 == hashlib.sha256(BEFORE.encode()).hexdigest()


@pytest.mark.parametrize("case", CHANGES)
def test_changed_file_without_a_copy_is_left_out(
    place: Workplace, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that changed since, and of which there is no copy, is named and left out."""
    monkeypatch.setattr(freezing, "MOST_COPIED_BYTES", 0)
    change, _since = CHANGES[case]
    file = place.write("out/results.json", BEFORE)
    end_run(place)
    freeze(place.record)
    change(file)
    row, sent = only(place)
    assert sent is None
    assert row.fate in (Fate.LEFT_IN_PLACE, Fate.VANISHED, Fate.UNREADABLE)
    assert row.why
    assert row.size_bytes == len(BEFORE)
    assert not (Path(place.record.path) / COPIES).exists()


@pytest.mark.parametrize("case", [case for case in CHANGES if CHANGES[case][0] not in MOVES])
def test_changed_file_without_a_freeze_is_left_out(place: Workplace, case: str) -> None:
    """Without a freeze the times tell: a file that changed after the end is never sent."""
    change, _since = CHANGES[case]
    file = place.write("out/results.json", BEFORE)
    end_run(place)
    change(file)
    bundle = place.bundle()
    assert bundle.attachments == ()
    assert {row.fate for row in bundle.artifacts} <= {Fate.LEFT_IN_PLACE}


def test_unchanged_file_is_sent_from_its_place(place: Workplace) -> None:
    """A file that is as it was at the end is sent without a remark."""
    place.write("results.json", BEFORE)
    freeze_run(place)
    row, sent = only(place)
    assert (row.fate, row.why) == (Fate.ATTACHED, "")
    assert sent is not None


def test_file_with_new_times_only_is_sent_from_its_place(place: Workplace) -> None:
    """A file that was touched, or got other permissions, has not changed: its digest says so."""
    file = place.write("results.json", BEFORE)
    freeze_run(place)
    os.utime(file)
    file.chmod(0o600)
    row, _sent = only(place)
    assert (row.fate, row.why) == (Fate.ATTACHED, "")


def test_watched_process_has_no_files(place: Workplace) -> None:
    """Of a process that gpualert did not start no file is frozen or sent, requested or not: its
    user chooses the working directory, and root may be the one who watches it."""
    place.describe("*.dat")
    place.record.write_json(
        SPEC, {**place.record.spec_fields(), "supervised": False, "uid": os.getuid()}
    )
    place.write("results.json", BEFORE)
    place.write("mine.dat", BEFORE)
    freeze_run(place)
    assert not (Path(place.record.path) / COPIES).exists()
    bundle = place.bundle()
    assert (bundle.artifacts, bundle.attachments) == ((), ())
    assert any("did not start" in note for note in bundle.notes)


def test_file_made_before_the_freeze_and_after_the_end(place: Workplace) -> None:
    """A file that is written between the end of the run and the freeze is named and left out."""
    place.write("results.json", BEFORE)
    end_run(place)
    place.write("next.json", AFTER)
    freeze(place.record)
    rows = place.rows()
    assert rows["results.json"].fate is Fate.ATTACHED
    late = rows["next.json"]
    assert (late.fate, late.why) == (Fate.LEFT_IN_PLACE, "it changed after the end of the run")
    assert late.sha256 is None


def test_requested_file_made_after_the_end(place: Workplace) -> None:
    """A file that a GLOB names is no exception."""
    place.describe("*.dat")
    place.write("mine.dat", BEFORE)
    end_run(place)
    place.write("next.dat", AFTER)
    rows = place.rows("*.dat")
    assert rows["mine.dat"].fate is Fate.ATTACHED
    assert rows["next.dat"].fate is Fate.LEFT_IN_PLACE


def test_end_that_nothing_saw(place: Workplace) -> None:
    """Files later than the last output are left out if the end is not known."""
    place.write("results.json", BEFORE)
    place.log(b"the last line\n")
    end_run(place)
    fields = place.record.read_json(EXIT)
    assert fields is not None
    place.record.write_json(EXIT, {**fields, "ended_at": None})
    place.write("next.json", AFTER)
    rows = place.rows()
    assert rows["results.json"].fate is Fate.ATTACHED
    late = rows["next.json"]
    assert late.fate is Fate.LEFT_IN_PLACE
    assert late.why == "it changed after the last output of the run, whose end nobody saw"


def test_file_server_whose_clock_is_ahead(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file whose time is still to come by the clock of this machine is no later one."""
    end_run(place)
    ended_ns = time.time_ns()
    place.write("results.json", BEFORE)
    monkeypatch.setattr(time, "time_ns", lambda: ended_ns - TICK_NS)
    assert place.rows()["results.json"].fate is Fate.ATTACHED


def test_files_of_later_runs_take_no_row_of_this_run(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many files a later run made, the manifest lists those of this run first."""
    end_run(place)
    for number in range(10):
        place.write(f"a{number}.json", AFTER)
    changes = place.changes(most=4)
    assert (len(changes.candidates), changes.beyond_cap) == (4, 6)
    assert "10 files changed after the end of the run; they are left out" in changes.notes


def test_copies_keep_their_budget(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies take no more than their limit, smaller files first; the others have a digest only."""
    monkeypatch.setattr(freezing, "MOST_COPIED_BYTES", 3000)
    for number in range(5):
        place.write(f"r{number}.txt", "x" * (900 + number))
    end_run(place)
    freeze(place.record)
    copies = list((Path(place.record.path) / COPIES).iterdir())
    assert len(copies) == 3
    assert sum(copy.stat().st_size for copy in copies) <= 3000
    frozen = read_freeze(place.record)
    assert frozen is not None
    assert [one.copy for one in frozen.candidates] == ["01", "02", "03", None, None]
    assert all(one.sha256 for one in frozen.candidates)


def test_checkpoint_is_not_copied(place: Workplace) -> None:
    """A file that is never sent is not read: it has neither a digest nor a copy."""
    place.write("model.pt", "x" * 1000)
    freeze_run(place)
    frozen = read_freeze(place.record)
    assert frozen is not None
    (one,) = frozen.candidates
    assert (one.sha256, one.copy, one.size) == (None, None, 1000)


def test_hard_links_are_copied_once(place: Workplace) -> None:
    """Two names of one file share a copy, and the message carries it once."""
    file = place.write("a.json", BEFORE)
    os.link(file, place.cwd / "b.json")
    freeze_run(place)
    grow(file)
    assert len(list((Path(place.record.path) / COPIES).iterdir())) == 1
    assert len(place.bundle().attachments) == 1


def test_copy_is_masked_when_it_is_sent(place: Workplace) -> None:
    """A copy holds what the file held; what is sent of it is masked."""
    file = place.write("config.yaml", f"hub: {TOKEN}\n")
    freeze_run(place)
    file.unlink()
    row, sent = only(place)
    assert sent is not None
    assert TOKEN.encode() not in sent.content
    assert row.redactions == 1


def test_odd_names_are_frozen(place: Workplace) -> None:
    """A name that is not UTF-8 is frozen like any other."""
    folder = os.fsencode(place.cwd)
    path = os.path.join(folder, b"r\xff\n.json")
    with open(path, "w") as out:
        out.write(BEFORE)
    freeze_run(place)
    os.unlink(path)
    row, sent = only(place)
    assert sent is not None
    assert os.fsencode(row.path) == path


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": 1, "candidates": 5}', "\0"])
def test_damaged_freeze(place: Workplace, content: str) -> None:
    """A damaged freeze counts as none."""
    place.write("results.json", BEFORE)
    freeze_run(place)
    (Path(place.record.path) / FREEZE).write_text(content)
    place.write("next.json", AFTER)
    rows = place.rows()
    assert rows["results.json"].fate is Fate.ATTACHED
    assert rows["next.json"].fate is Fate.LEFT_IN_PLACE


def test_freeze_is_made_once(place: Workplace) -> None:
    """A freeze that exists is not made again, whoever asks."""
    place.write("results.json", BEFORE)
    freeze_run(place)
    before = place.record.read_json(FREEZE)
    place.write("next.json", AFTER)
    freeze(place.record)
    assert place.record.read_json(FREEZE) == before


def test_freeze_that_another_process_makes(place: Workplace) -> None:
    """While a process freezes, another one leaves that to it."""
    end_run(place)
    lock = place.record.try_lock(LOCK)
    freeze(place.record)
    os.close(lock)
    assert not place.record.has(FREEZE)


def test_copy_that_the_disk_rejects(place: Workplace) -> None:
    """A disk without room for a copy costs that copy, and neither the digests nor the list."""
    small, large = place.write("a.txt", "x" * 100), place.write("b.txt", "y" * 100_000)
    end_run(place)
    code = (
        "import resource, sys\n"
        "from gpualert_common.artifacts.freeze import freeze\n"
        "from gpualert_common.record import Record\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "freeze(Record.open(sys.argv[1]))\n"
    )
    subprocess.run([*python(code), place.record.path], check=True, timeout=30)
    small.unlink()
    large.unlink()
    rows = place.rows()
    assert rows["a.txt"].fate is Fate.ATTACHED
    lost = rows["b.txt"]
    assert (lost.fate, lost.why) == (Fate.VANISHED, "it was removed after the end of the run")
    assert lost.sha256 == hashlib.sha256(b"y" * 100_000).hexdigest()
    assert len(list((Path(place.record.path) / COPIES).iterdir())) == 1


NO_LOCKS = """
#include <errno.h>
int flock(int fd, int how) { (void)fd; (void)how; errno = ENOLCK; return -1; }
"""


def test_disk_without_locks(place: Workplace) -> None:
    """A filesystem without locks costs neither the freeze nor the bundle."""
    place.write("results.json", BEFORE)
    end_run(place)
    source, library = place.home / "no_locks.c", place.home / "no_locks.so"
    source.write_text(NO_LOCKS)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    code = (
        "import sys\n"
        "from gpualert_common.artifacts import bundle\n"
        "from gpualert_common.artifacts.freeze import freeze\n"
        "from gpualert_common.record import Record\n"
        "from gpualert_common.redact import Redactor\n"
        "record = Record.open(sys.argv[1])\n"
        "freeze(record)\n"
        "limits = dict(files_bytes=999, file_bytes=999, files=9, deadline_s=9)\n"
        "print(len(bundle(record, Redactor(), **limits).attachments))\n"
    )
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    command = [*python(code), place.record.path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert read_freeze(place.record) is not None
