"""The search finds requested files and the results of the run, and no files of other users."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gpualert_common import artifacts
from gpualert_common.artifacts import walk
from gpualert_common.artifacts.search import find_files
from gpualert_common.model import Fate
from gpualert_common.processes.program import program_command
from tests.artifacts.workplace import SNAPSHOT_PROGRAM, Workplace


def foreign_file(folder: Path) -> Path:
    """Return a file that belongs to another user."""
    if os.geteuid():
        return Path("/etc/passwd")
    file = folder / "foreign.json"
    file.write_text("{}")
    os.chown(file, 65534, 65534)
    return file


def notes(place: Workplace) -> str:
    """Return all notes of the search."""
    return "\n".join(place.changes().notes)


# -- usual results -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["metrics.json", "LOSS.CSV", "plots/loss.png", "a/b/c/report.html", "model.pt"]
)
def test_usual_results_are_found(place: Workplace, name: str) -> None:
    """The search finds results by their names, at any depth and in any case."""
    place.write(name)
    assert place.names() == {name}


@pytest.mark.parametrize("name", ["train.py", "noext", "a.so", "results.zip", "json", ".json"])
def test_other_files_are_no_results(place: Workplace, name: str) -> None:
    """Files that are not results by their names are found only on request."""
    place.write(name)
    assert place.names() == set()


@pytest.mark.parametrize(
    "name",
    [
        ".hidden.json",
        ".hydra/config.yaml",
        "a/.git/config.json",
        "node_modules/x/package.json",
        "__pycache__/x.json",
    ],
)
def test_hidden_and_heavy_folders_are_not_entered(place: Workplace, name: str) -> None:
    """The search skips hidden files and folders, and folders of package managers."""
    place.write(name)
    assert place.names() == set()


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta/history"])
def test_environments_are_not_entered(place: Workplace, mark: str) -> None:
    """The search skips Python environments."""
    place.write(f"env/{mark}")
    place.write("env/lib/data.json")
    assert place.names() == set()


def test_state_directory_in_the_working_directory(place: Workplace) -> None:
    """gpualert's own records are not results; a note says that they are left out."""
    place.describe(cwd=str(place.home))
    place.write("mine.json")
    assert place.names() == {"work/mine.json"}
    assert "gpualert's own state" in notes(place)


def test_special_files_are_not_opened(place: Workplace) -> None:
    """A named pipe and a socket with the name of a result are skipped and counted."""
    os.mkfifo(place.cwd / "pipe.json")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(place.cwd / "socket.json"))
        assert place.names() == set()
    assert "2 skipped: not regular files, or files of other users" in notes(place)


def test_links_are_not_followed(place: Workplace) -> None:
    """A link is skipped and counted; its target is listed under its own name."""
    place.write("real.json")
    (place.cwd / "again.json").symlink_to("real.json")
    (place.home / "outside").mkdir()
    (place.home / "outside" / "secret.json").write_text("{}")
    (place.cwd / "out.json").symlink_to(place.home / "outside" / "secret.json")
    (place.cwd / "folder").symlink_to(place.home / "outside")
    assert place.names() == {"real.json"}
    assert "2 links were not followed" in notes(place)


@pytest.mark.e2e
def test_files_of_other_users_are_skipped(place: Workplace) -> None:
    """A result of another user is counted, not listed."""
    foreign_file(place.cwd)
    assert place.names() == set()
    assert "1 skipped: not regular files, or files of other users" in notes(place)


def test_odd_names(place: Workplace) -> None:
    """Names with line ends or invalid UTF-8 are found, and displayed on one line."""
    place.write("two\nlines.json")
    (Path(os.fsdecode(os.fsencode(place.cwd) + b"/caf\xe9.json"))).write_text("{}")
    assert set(place.rows()) == {"two\\x0alines.json", "caf\\xe9.json"}


# -- bounds ------------------------------------------------------------------------------------


def test_files_beyond_the_cap_are_counted(place: Workplace) -> None:
    """Files beyond the limit are counted."""
    for number in range(12):
        place.write(f"{number}.json")
    changes = place.changes(most=5)
    assert (len(changes.candidates), changes.beyond_cap) == (5, 7)


def test_a_hundred_thousand_files(place: Workplace) -> None:
    """Of a hundred thousand results, a thousand are listed and the rest is counted."""
    folder = os.open(place.cwd, os.O_RDONLY)
    for number in range(100_000):
        os.close(os.open(f"{number}.json", os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=folder))
    os.close(folder)
    place.describe()
    changes = place.changes()
    assert (len(changes.candidates), changes.beyond_cap) == (1000, 99_000)
    assert changes.notes == ()


def test_a_huge_folder_does_not_hide_others(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder with more names than the limit does not keep the search from other folders."""
    monkeypatch.setattr(walk, "SLICE", 20)
    monkeypatch.setattr(walk, "MOST_ENTRIES", 100)
    for number in range(200):
        place.write(f"data/{number}.dat")
    place.write("runs/first/metrics.json")
    assert place.names() == {"runs/first/metrics.json"}
    assert "stopped early" in notes(place)


def test_no_time(place: Workplace) -> None:
    """A search without time finds nothing, and a note says so."""
    place.write("metrics.json")
    changes = place.changes(deadline_s=-1.0)
    assert changes.candidates == ()
    assert "stopped early" in changes.notes[0]


def test_deep_nesting(place: Workplace) -> None:
    """Five thousand nested folders cost nothing, and a note names them."""
    place.write("top.json")
    fd = os.open(place.cwd, os.O_RDONLY)
    for _ in range(5000):
        os.mkdir("d", dir_fd=fd)
        deeper = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = deeper
    os.close(os.open("deep.json", os.O_CREAT, dir_fd=fd))
    os.close(fd)
    try:
        assert place.names() == {"top.json"}
        assert "more than 64 levels deep (1)" in notes(place)
    finally:
        subprocess.run(["rm", "-r", "d"], cwd=place.cwd, check=True)  # pytest's own gives up


def test_no_descriptor_is_left_open(place: Workplace) -> None:
    """A search closes its descriptors, also after an error."""
    for number in range(30):
        place.write(f"{number % 5}/{number}.json")
    before = set(os.listdir("/proc/self/fd"))
    find_files(str(place.cwd), ["**/1.json"], deadline_s=9, most=3)
    find_files(str(place.cwd), ["**/1.json"], deadline_s=-1, most=3)
    assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("cwd", [None, "relative", "/nowhere/at/all"])
def test_no_working_directory(place: Workplace, cwd: str | None) -> None:
    """Without a working directory the search finds nothing, and the notes say why."""
    place.describe(cwd=cwd)
    assert place.changes().candidates == ()
    assert "working directory" in notes(place)


def test_working_directory_behind_a_link(place: Workplace) -> None:
    """The search follows a working directory that is a link."""
    place.write("metrics.json")
    (place.home / "link").symlink_to(place.cwd)
    place.describe("metrics.json", cwd=str(place.home / "link"))
    assert place.names() == {"metrics.json"}


# -- requested files ---------------------------------------------------------------------------

GLOBS: dict[str, tuple[str, set[str]]] = {
    "literal": ("a.dat", {"a.dat"}),
    "star": ("*.dat", {"a.dat"}),
    "one level": ("*/*.dat", {"one/b.dat"}),
    "two stars": ("**/*.dat", {"a.dat", "one/b.dat", "one/two/c.dat"}),
    "two stars inside": ("one/**/c.dat", {"one/two/c.dat"}),
    "two stars last": ("one/**", {"one/b.dat", "one/two/c.dat"}),
    "folder": ("one", {"one/b.dat", "one/two/c.dat"}),
    "folder with a slash": ("one/", {"one/b.dat", "one/two/c.dat"}),
    "class": ("[ab].dat", {"a.dat"}),
    "dots": ("./one/../a.dat", {"a.dat"}),
    "hidden by name": (".hidden/d.dat", {".hidden/d.dat"}),
    "hidden by pattern": (".h*/*.dat", {".hidden/d.dat"}),
    "name with brackets": ("e[1].x", {"e[1].x"}),
    "all": ("*", {"a.dat", "e[1].x"}),
}


@pytest.mark.parametrize("case", GLOBS)
def test_globs(place: Workplace, case: str) -> None:
    """A GLOB finds the same files as in a shell; ** is any number of folders."""
    glob, expected = GLOBS[case]
    for name in ("a.dat", "one/b.dat", "one/two/c.dat", ".hidden/d.dat", "e[1].x"):
        place.write(name)
    place.describe(glob)
    assert place.names() == expected


def test_absolute_and_home_globs(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Absolute globs and globs below ~ find files outside of the working directory."""
    monkeypatch.setenv("HOME", str(place.home))
    (place.home / "x.dat").touch()
    (place.home / "y.dat").touch()
    place.describe("~/x.dat", str(place.home / "y*"), "../x.dat")
    assert place.names() == {str(place.home / "x.dat"), str(place.home / "y.dat")}


def test_glob_before_the_usual(place: Workplace) -> None:
    """Requested files are listed first, with any number of usual results."""
    for number in range(20):
        place.write(f"{number}.json")
    place.write("z/wanted.dat")
    place.describe("z/*.dat", "absent")
    names = [one.name for one in place.changes(most=3).candidates]
    assert names[:2] == ["absent", "z/wanted.dat"]


def test_glob_that_matches_nothing(place: Workplace) -> None:
    """A note names a pattern without a match."""
    place.describe("*.dat", "no/such/*.x")
    assert "nothing matched *.dat\nnothing matched no/such/*.x" in notes(place)


def test_name_that_is_not_there(place: Workplace) -> None:
    """A requested name has a row even if no such file exists."""
    row = place.rows("final.json")["final.json"]
    assert (row.fate, row.size_bytes) == (Fate.VANISHED, None)
    assert "it did not exist" in row.why


def test_name_that_comes_late(place: Workplace) -> None:
    """A file that appears during the search has one row."""
    place.write("wanted.json")

    def keep(_found: object) -> bool:
        place.write("late.json")
        return True

    globs = ["late.json", "wanted.json"]
    result = find_files(str(place.cwd), globs, deadline_s=60.0, most=10, keep=keep)
    assert {file.path for file in result.files} == {"late.json", "wanted.json"}
    assert result.unavailable == ()


def test_link_inside_is_listed_once(place: Workplace) -> None:
    """A requested link stands for its target, which is listed once."""
    place.write("run3/metrics.json")
    (place.cwd / "latest").symlink_to("run3")
    (place.cwd / "best.json").symlink_to("run3/metrics.json")
    place.describe("latest/metrics.json", "best.json", "*.json", "latest/*")
    assert [one.name for one in place.changes().candidates] == ["run3/metrics.json"]


@pytest.mark.parametrize("glob", ["out.json", "*.json", "folder/*", "folder/secret.json"])
def test_link_that_leads_out(place: Workplace, glob: str) -> None:
    """A relative GLOB does not follow a link out of the working directory; its row says so."""
    outside = place.home / "outside"
    outside.mkdir()
    (outside / "secret.json").write_text("{}")
    (place.cwd / "out.json").symlink_to(outside / "secret.json")
    (place.cwd / "folder").symlink_to(outside)
    (row,) = place.rows(glob).values()
    assert row.fate is Fate.UNREADABLE
    assert "link" in row.why
    assert "out" in row.why


def test_special_file_by_name(place: Workplace) -> None:
    """A requested named pipe is listed, never opened."""
    os.mkfifo(place.cwd / "pipe")
    row = place.rows("pipe")["pipe"]
    assert (row.fate, row.why) == (Fate.UNREADABLE, "a named pipe, not a file")


def test_foreign_file_by_name(place: Workplace) -> None:
    """A file of another user is not read, even on request."""
    path = foreign_file(place.home)
    row = place.rows(str(path))[str(path)]
    assert row.fate is Fate.UNREADABLE
    assert "belongs to user" in row.why


@pytest.mark.parametrize("glob", ["", "\0", "x" * 5000, "[", "**/" * 200 + "x"])
def test_strange_globs(place: Workplace, glob: str) -> None:
    """No GLOB makes the search fail."""
    place.write("a.json")
    place.describe(glob)
    assert "a.json" in place.names()


# -- changed by the run ------------------------------------------------------------------------


def test_untouched_results_are_no_candidates(place: Workplace) -> None:
    """A result that existed before and did not change is not a candidate."""
    place.write("old.json")
    place.write_baseline()
    place.describe(began=+60)
    assert place.names() == set()


def test_new_and_changed_results(place: Workplace) -> None:
    """Results that are new or changed since the launch are candidates."""
    place.write("old.json")
    place.write("changed.json")
    place.write_baseline()
    place.describe(began=+60)
    place.write("changed.json", "other")
    place.write("new.json")
    assert place.names() == {"changed.json", "new.json"}


@pytest.mark.parametrize(("began", "expected"), [(0.0, {"a.json"}), (+60.0, set())])
def test_no_baseline(place: Workplace, began: float, expected: set[str]) -> None:
    """Without a baseline a file counts when its times are later than the launch."""
    place.describe(began=began)
    place.write("a.json")
    assert place.names() == expected


def test_incomplete_baseline(place: Workplace) -> None:
    """A file missing from an incomplete baseline is new only by its times."""
    place.write("a.json")
    place.write_baseline()
    baseline = place.record.read_json("baseline.json")
    assert baseline is not None
    place.record.write_json("baseline.json", {**baseline, "complete": False, "files": {}})
    place.describe(began=+60)
    assert place.names() == set()


def long_ago(path: Path) -> None:
    """Set the times of a file back; its ctime is now."""
    os.utime(path, (1.0, 1.0))


def test_time_that_was_set_back(place: Workplace) -> None:
    """A copy that keeps its old time is found without a baseline: ctime cannot be set back."""
    place.describe(began=0.0)
    place.write("copied.json")
    long_ago(place.cwd / "copied.json")
    assert place.names() == {"copied.json"}


def test_same_size_and_time(place: Workplace) -> None:
    """A file replaced by one of equal size and time counts as changed."""
    file = place.write("metrics.json", "1111")
    long_ago(file)
    place.write_baseline()
    place.describe(began=+60)
    other = place.write("other.tmp", "2222")
    long_ago(other)
    other.rename(file)
    assert place.names() == {"metrics.json"}


def test_written_before_the_baseline(place: Workplace) -> None:
    """A file that a short run wrote before the baseline counts by its time."""
    place.describe()
    place.write("quick.json")
    place.write_baseline()
    assert place.names() == {"quick.json"}


def test_written_just_before_the_run(place: Workplace) -> None:
    """A file written a second before the run began is not a candidate."""
    place.write("config.yaml")
    place.write_baseline()
    place.describe(began=+1.0)
    assert place.names() == set()


def test_asked_for_and_unchanged(place: Workplace) -> None:
    """A requested file is a candidate even if the run did not change it; its row says so."""
    place.write("config.yaml")
    place.describe("config.yaml")
    place.write_baseline()
    place.describe("config.yaml", began=+60)
    (row,) = place.bundle().artifacts
    assert (row.fate, row.why) == (Fate.ATTACHED, "not changed by the run")


def test_results_that_are_gone_are_counted(place: Workplace) -> None:
    """A note counts the results that existed after the launch and no longer exist."""
    place.write("old.json")
    place.write_baseline()
    (place.cwd / "old.json").unlink()
    assert "1 files that existed after the launch no longer exist" in notes(place)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"schema": 1}', '{"schema": 1, "complete": true, "files": {"a": 3}}',
     '{"schema": 1, "complete": true, "files": []}', '{"schema": 99}'],
)  # fmt: skip
def test_damaged_baseline(place: Workplace, content: str) -> None:
    """With a damaged baseline, files count by their times."""
    Path(place.record.path, "baseline.json").write_text(content)
    place.write("new.json")
    assert place.names() == {"new.json"}


@pytest.mark.parametrize("name", [b"caf\xe9.json", "\u20ac\n\u00e9.json".encode()])
def test_odd_names_in_the_baseline(place: Workplace, name: bytes) -> None:
    """The baseline preserves any name."""
    file = Path(os.fsdecode(os.fsencode(place.cwd) + b"/" + name))
    file.write_text("{}")
    place.write_baseline()
    place.describe(began=+60)
    assert place.names() == set()
    assert place.changes().notes == ()  # none is missing, so it was known


# -- the process -------------------------------------------------------------------------------


def test_process_without_a_record(tmp_path: Path) -> None:
    """Without a record the snapshot program prints nothing and exits with 1."""
    done = subprocess.run(
        program_command(SNAPSHOT_PROGRAM, str(tmp_path / "none")), capture_output=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def test_process_dies_by_itself(place: Workplace, tmp_path: Path) -> None:
    """The kernel kills a hanging snapshot program, with any inherited signal mask."""
    hang = tmp_path / "hang.py"
    hang.write_text(
        "import signal, sys, time\n"
        f"sys.path.insert(0, {str(Path(artifacts.__file__).parents[2])!r})\n"
        "from gpualert_common.artifacts import snapshot_program\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])\n"
        "signal.signal(signal.SIGALRM, signal.SIG_IGN)\n"
        "snapshot_program.limit_resources(1)\n"
        "while True: time.sleep(60)\n"
    )
    assert subprocess.run([sys.executable, hang], timeout=60).returncode == -14


def test_process_needs_little_of_us(place: Workplace) -> None:
    """The snapshot program imports few modules: a training runs at the same time."""
    probe = (
        f"import sys; sys.path.insert(0, {str(Path(artifacts.__file__).parents[2])!r})\n"
        "from gpualert_common.artifacts import snapshot_program\n"
        f"snapshot_program.write_snapshot({place.record.path!r})\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", probe], capture_output=True, text=True)
    heavy = {"re2", "dataclasses", "gzip", "hashlib", "jinja2", "inspect"}
    assert set(done.stdout.split()) & heavy == set(), done.stderr
    assert "gpualert_common.artifacts.search" in done.stdout
