"""Excerpts of a log: the right lines with their numbers, whatever is in the log."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpualert_common.model import LogLocation
from gpualert_common.pages.log_excerpts import LogExcerpt, read_excerpt
from gpualert_common.record import SPEC, Record
from gpualert_common.record.record import describe
from gpualert_common.redact import Redactor
from gpualert_common.report.text_sanitizer import LINE
from gpualert_common.spec import RunSpec

LOG = "output.log"
MEGABYTE = 1 << 20


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Return a record with an empty log."""
    made = Record.create(str(tmp_path / "run"), sync=False)
    made.write_json(SPEC, describe(RunSpec(("python", "train.py")), made, created_at=1.0))
    Path(made.log_path(LOG)).touch()
    return made


def excerpt_at(record: Record, log: bytes, cited: bytes, context: int = 10) -> LogExcerpt | None:
    """Return the excerpt around the first line of a log that begins so."""
    Path(record.log_path(LOG)).write_bytes(log)
    offset = log.index(cited)
    place = LogLocation(LOG, log.count(b"\n", 0, offset) + 1, offset)
    return read_excerpt(record, place, Redactor(), context=context)


def lines_at(record: Record, log: bytes, cited: bytes, context: int = 10) -> list[str]:
    """Return the lines of that excerpt as "NUMBER TEXT", the cited one behind ">"."""
    found = excerpt_at(record, log, cited, context)
    assert found is not None
    return [f"{'>' if one.is_cited else ''}{one.number} {one.text}" for one in found.lines]


def test_lines_around(record: Record) -> None:
    """An excerpt has ten lines before and after the cited one, with their numbers."""
    log = b"".join(b"line %d\n" % number for number in range(1, 101))
    shown = lines_at(record, log, b"line 50\n")
    assert shown == [f"{'>' if n == 50 else ''}{n} line {n}" for n in range(40, 61)]


@pytest.mark.parametrize("cited", [b"first", b"last"])
def test_ends_of_the_log(record: Record, cited: bytes) -> None:
    """At an end of the log the excerpt has the lines that there are, also without a line feed."""
    mark = {cited: ">"}
    expected = [f"{mark.get(b'first', '')}1 first", "2 middle", f"{mark.get(b'last', '')}3 last"]
    assert lines_at(record, b"first\nmiddle\nlast", cited) == expected


def test_progress_bar(record: Record) -> None:
    """A line that was redrawn is shown in its last state, and the cited one from its place on."""
    log = b"10%\r50%\r100%\nstep 1\rERROR: lost\nend\n"
    assert lines_at(record, log, b"ERROR") == ["1 100%", ">2 ERROR: lost", "3 end"]


def test_hostile_bytes(record: Record) -> None:
    """Escape sequences vanish; NUL, marks of direction and invalid UTF-8 become harmless."""
    log = b"\x1b[31mred\x1b[0m\n\0nul \xe2\x80\xae bidi \xff\xfe\nERROR <b>\n"
    shown = lines_at(record, log, b"ERROR")
    assert shown == ["1 red", "2 \ufffdnul \ufffd bidi \ufffd\ufffd", ">3 ERROR <b>"]


def test_secret_of_several_lines(record: Record) -> None:
    """A private key next to the cited line is masked as a whole."""
    body = b"\n".join([b"MIIEowIBAAKCAQEA7bq" + b"x" * 45] * 20)
    key = b"-----BEGIN RSA PRIVATE KEY-----\n%b\n-----END RSA PRIVATE KEY-----\n" % body
    found = excerpt_at(record, b"start\n" + key + b"ERROR: no\nend\n", b"ERROR")
    assert found is not None
    text = "\n".join(one.text for one in found.lines)
    assert "MIIE" not in text
    assert "[redacted" in text
    assert "ERROR: no" in text


def test_secret_in_a_line(record: Record) -> None:
    """A token is masked, and the lines keep their numbers."""
    token = b"hf_" + b"aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dEfG"
    shown = lines_at(record, b"a\nERROR token=%b\nb\n" % token, b"ERROR")
    assert [line.split()[0] for line in shown] == ["1", ">2", "3"]
    assert token.decode() not in "".join(shown)


def test_line_of_100_mb(record: Record) -> None:
    """A line of 100 MB before, at, or after the place costs a short excerpt, not the memory."""
    huge = b"x" * (100 * MEGABYTE)
    log = b"begin\n" + huge + b"\nERROR\n" + huge
    shown = lines_at(record, log, b"ERROR")
    assert shown[-1].endswith("ERROR")
    (_begin, line) = excerpt_at(record, b"begin\n" + huge, b"xxx", 1).lines  # type: ignore[union-attr]
    assert line.is_cited
    assert len(line.text) <= LINE


@pytest.mark.parametrize(
    "place",
    [
        LogLocation("stderr.log", 1, 0),
        LogLocation("../run/output.log", 1, 0),
        LogLocation(LOG, 9, 1000),
        LogLocation(LOG, 1, -1),
        LogLocation(LOG, 1, 1 << 80),
    ],
    ids=["other log", "path", "behind the end", "negative", "huge"],
)
def test_place_that_is_not_there(record: Record, place: LogLocation) -> None:
    """A place that the logs do not have has no excerpt."""
    Path(record.log_path(LOG)).write_bytes(b"one line\n")
    assert read_excerpt(record, place, Redactor(), context=10) is None


def test_log_that_is_gone(record: Record) -> None:
    """A log that was removed, or is a pipe now, has no excerpt."""
    place, path = LogLocation(LOG, 1, 0), Path(record.log_path(LOG))
    path.unlink()
    assert read_excerpt(record, place, Redactor(), context=10) is None
    os.mkfifo(path)
    assert read_excerpt(record, place, Redactor(), context=10) is None


def test_line_without_a_number(record: Record) -> None:
    """Behind a part of the log that was not read, lines have no numbers."""
    Path(record.log_path(LOG)).write_bytes(b"a\nERROR\nb\n")
    found = read_excerpt(record, LogLocation(LOG, None, 2), Redactor(), context=10)
    assert found is not None
    shown = [(one.number, one.text, one.is_cited) for one in found.lines]
    assert shown == [(None, "a", False), (None, "ERROR", True), (None, "b", False)]
