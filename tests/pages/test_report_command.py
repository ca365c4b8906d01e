"""``gpualert report``: the file that it writes, and the places where it writes none."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tests.supervised import Lab, python

FAILS = python("raise ValueError('bad <shape>')")


def write_report(lab: Lab, *arguments: str) -> tuple[int, str, str]:
    """Return exit status, stdout and stderr of the command."""
    done = lab.gpualert("report", *arguments)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_default_file(lab: Lab) -> None:
    """Without arguments the report of the last run is written into the working directory."""
    lab.run(*FAILS)
    (record,) = lab.records()
    path = lab.home / f"gpualert-{record.name}.html"
    assert write_report(lab) == (0, f"{path}\n", "")
    assert "bad &lt;shape&gt;" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_stdout(lab: Lab) -> None:
    """``-o -`` writes the page to stdout, and no file."""
    lab.run(*FAILS)
    before = set(os.listdir(lab.home))
    status, page, notes = write_report(lab, "last", "-o", "-")
    assert (status, notes) == (0, "")
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")
    assert set(os.listdir(lab.home)) == before


def test_file_is_replaced(lab: Lab) -> None:
    """An earlier file is replaced in one step: a reader of the old one keeps it whole."""
    lab.run(*FAILS)
    path = lab.home / "out.html"
    path.write_text("old")
    with path.open() as old:
        assert write_report(lab, "-o", str(path))[0] == 0
        assert old.read() == "old"
    assert path.read_text().startswith("<!doctype html>")
    assert [one for one in os.listdir(lab.home) if one.startswith(".gpualert-")] == []


def test_places_that_are_refused(lab: Lab) -> None:
    """A link, a pipe, a folder and a missing folder are named in the error, and not changed."""
    lab.run(*FAILS)
    victim, link, pipe = (lab.home / name for name in ("victim", "link.html", "pipe.html"))
    victim.write_text("precious")
    link.symlink_to(victim)
    os.mkfifo(pipe)
    reasons = {
        link: "it is a link",
        pipe: "it is no regular file",
        lab.home: "it is no regular file",
        lab.home / "missing" / "out.html": "No such file or directory",
        Path("/proc/out.html"): "",
    }
    for path, reason in reasons.items():
        status, out, notes = write_report(lab, "-o", str(path))
        assert (status, out) == (2, "")
        assert f"{path}: not written: {reason}" in notes
        assert "--output" in notes
    assert victim.read_text() == "precious"


def test_link_to_the_folder(lab: Lab) -> None:
    """A link to the folder is followed: only the file itself must not be one."""
    lab.run(*FAILS)
    (lab.home / "folder").mkdir()
    (lab.home / "short").symlink_to(lab.home / "folder")
    assert write_report(lab, "-o", "short/out.html")[0] == 0
    assert (lab.home / "folder" / "out.html").exists()


def test_unknown_run(lab: Lab) -> None:
    """An unknown run is an error that says how to find one, and nothing is written."""
    status, out, notes = write_report(lab, "nosuchrun")
    assert (status, out) == (2, "")
    assert "no run 'nosuchrun'" in notes
    assert list(lab.home.glob("*.html")) == []


def test_live_run(lab: Lab) -> None:
    """The report of a live run has its state and its last output, and does not load again."""
    code = "import sys, time; print('step 1', flush=True); sys.stdin.read()"
    run = lab.launch(*python(code), stdin=-1)
    run.wait_for_output(b"step 1")
    status, page, _notes = write_report(lab, "-o", "-")
    assert status == 0
    assert "Running" in page
    assert "step 1" in page
    assert 'http-equiv="refresh"' not in page
