"""The end of a log: as an attachment, and as lines for display."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpualert_common import artifacts
from gpualert_common.redact import Redactor
from tests.artifacts.workplace import TOKEN, Workplace


def tail(place: Workplace, most: int = 100_000) -> bytes:
    """Return the end of the only log."""
    ((name, content),) = artifacts.read_log_tails(place.record, Redactor(), most)
    assert name == "output.log"
    return content


def lines(place: Workplace, most: int = 40) -> tuple[str, ...]:
    """Return the last lines."""
    return artifacts.read_last_lines(place.record, Redactor(), most)


# -- as a file ---------------------------------------------------------------------------------


def test_short_log_is_whole(place: Workplace) -> None:
    """A log that fits is attached unchanged."""
    place.log(b"\x00\xff epoch 1\r\nepoch 2")
    assert tail(place) == b"\x00\xff epoch 1\r\nepoch 2"


def test_long_log_keeps_its_end(place: Workplace) -> None:
    """A long log keeps its last whole lines, and the first line counts the missing bytes."""
    log = b"".join(b"line %d\n" % number for number in range(100_000))
    place.log(log)
    mark, _, kept = tail(place, 5000).partition(b"\n")
    assert log.endswith(b"\n" + kept)
    assert mark == b"[... %d bytes left out ...]" % (len(log) - len(kept))
    assert 4900 < len(kept) < 5000


def test_huge_log(place: Workplace) -> None:
    """A log of twenty gigabytes without a line end costs no more than a short one."""
    place.log(b"")
    with Path(place.record.log_path("output.log")).open("r+b") as log:
        log.truncate(20 << 30)
        log.seek(20 << 30)
        log.write(b"x" * 9000)
    content = tail(place, 5000)
    assert len(content) <= 5000
    assert content.endswith(b"x" * 4900)
    (line,) = lines(place)
    assert line.startswith("[...] ")
    assert len(line) <= 500


def test_log_is_masked(place: Workplace) -> None:
    """Secrets in a log are masked, wherever its end begins."""
    place.log(b"." * 30_000 + f" {TOKEN}\n".encode() + b"." * 1000)
    for most in range(1000, 1200):
        assert TOKEN[-10:].encode() not in tail(place, most)
    assert TOKEN not in "".join(lines(place))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=400), st.integers(1, 200), st.integers(-5, 30_000))
def test_tail_is_bounded(place: Workplace, piece: bytes, times: int, most: int) -> None:
    """The end of a log never exceeds its limit."""
    place.log(piece * times)
    assert len(tail(place, most)) <= max(most, 0)


@pytest.mark.parametrize("what", ["absent", "pipe", "folder", "link"])
def test_log_that_cannot_be_read(place: Workplace, what: str) -> None:
    """A log that cannot be read is replaced by a line with the reason."""
    path = Path(place.record.log_path("output.log"))
    match what:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to("/etc/passwd")
        case _:
            pass  # nothing is there
    assert tail(place).startswith(b"[output.log cannot be read: ")
    (line,) = lines(place)
    assert line.startswith("[output.log cannot be read: ")


def test_empty_log(place: Workplace) -> None:
    """An empty log has an empty end."""
    place.log(b"")
    assert tail(place) == b""
    assert lines(place) == ()


def test_two_logs(place: Workplace) -> None:
    """Each of two logs has its own end."""
    place.describe(logs=("stdout.log", "stderr.log"))
    place.log(b"out\n", "stdout.log")
    place.log(b"err\n", "stderr.log")
    ends = artifacts.read_log_tails(place.record, Redactor(), 1000)
    assert ends == (("stdout.log", b"out\n"), ("stderr.log", b"err\n"))


# -- as lines ----------------------------------------------------------------------------------

RENDERED: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "plain": (b"a\nb\n", ("a", "b")),
    "no end": (b"a\nb", ("a", "b")),
    "dos": (b"a\r\nb\r\n", ("a", "b")),
    "progress": (b"start\n 10%\r 50%\r100%\ndone\n", ("start", "100%", "done")),
    "progress that goes on": (b" 10%\r 50%\r", (" 50%",)),
    "nested bars": (
        b"start\n\repochs  0%" + b"\n\rsteps 50%\x1b[A\n\rsteps 90%\x1b[A\repochs 50%\n\n\ndone\n",
        ("start", "epochs 50%", "steps 90%", "", "done"),
    ),
    "above the first line": (b"a\x1b[99Ab\n\x1b[Ac\n", ("c",)),
    "colours": (b"\x1b[31mred\x1b[0m\n\x1b]0;title\x07x\n", ("red", "x")),
    "control": (b"a\0b\x07c\n", ("a\ufffdb\ufffdc",)),
    "tab": (b"a\tb\n", ("a   b",)),
    "latin-1": (b"caf\xe9\n", ("caf\ufffd",)),
    "wide": ("损失 👩\u200d💻\n".encode(), ("损失 👩\u200d💻",)),
    "bidi": ("a\u202eb\u2028c\u3000d\n".encode(), ("a\ufffdb\ufffdc d",)),
    "blank": (b"\n\na\n\n\n \nb\n\n\n", ("a", "", "b")),
    "only blank": (b"\n \n\n", ()),
}


@pytest.mark.parametrize("case", RENDERED)
def test_lines_as_a_terminal_shows_them(place: Workplace, case: str) -> None:
    """Lines appear as on a terminal, without control characters."""
    log, expected = RENDERED[case]
    place.log(log)
    assert lines(place) == expected


def test_last_lines_are_taken(place: Workplace) -> None:
    """The last lines are returned, oldest first."""
    place.log(b"".join(b"line %d\n" % number for number in range(200_000)))
    assert lines(place, 3) == ("line 199997", "line 199998", "line 199999")
    assert lines(place, 0) == ()


def test_long_lines_are_cut(place: Workplace) -> None:
    """A long line is cut, with a mark."""
    place.log(b"x" * 10_000 + b"\nshort\n")
    cut, short = lines(place)
    assert (len(cut), cut[-7:], short) == (500, "x [...]", "short")


def test_lines_of_two_logs(place: Workplace) -> None:
    """Two logs share the lines under their names; a short log leaves more lines to the other."""
    place.describe(logs=("stdout.log", "stderr.log"))
    place.log(b"out\n" * 100, "stdout.log")
    place.log(b"err 1\nerr 2\n", "stderr.log")
    shown = lines(place, 10)
    assert shown == (
        "==> stdout.log <==", *["out"] * 6, "==> stderr.log <==", "err 1", "err 2"
    )  # fmt: skip
    place.log(b"err\n" * 100, "stderr.log")
    assert len(lines(place, 10)) == 10
    assert lines(place, 10)[5] == "==> stderr.log <=="


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=2000), st.integers(1, 400), st.integers(1, 30))
def test_lines_are_bounded(place: Workplace, piece: bytes, times: int, most: int) -> None:
    """The lines never exceed their number and length, and contain no control characters."""
    place.log(piece * times)
    found = lines(place, most)
    assert len(found) <= most
    assert all(len(line) <= 500 for line in found)
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for line in found for c in line)
