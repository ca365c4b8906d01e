"""The message at the end of ``gpualert run``: at a terminal of any width, and anywhere else."""

from __future__ import annotations

import pytest

from tests.screens import drop_colours, on_screen
from tests.supervised import Lab, python

MESSAGE = (
    "CUDA out of memory. Tried to allocate 91.60 GiB. GPU 0 has a total capacity of 79.20 GiB of "
    "which 70.00 GiB is free."
)
FAILS = ("run", "--notify", "mailbox", "--", *python(f"raise RuntimeError({MESSAGE!r})"))
RED, GREEN, ESCAPE = b"\x1b[1;31m", b"\x1b[1;32m", b"\x1b"


@pytest.fixture(autouse=True)
def with_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal has colours."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def screen(lab: Lab, *arguments: str, columns: int, status: int) -> bytes:
    """Return what gpualert itself prints at a terminal of this width."""
    shown = on_screen(lab, *arguments, columns=columns, streams=("stdout", "stderr"), status=status)
    return shown[shown.index(b"gpualert: ") :]


@pytest.mark.parametrize("columns", [30, 60, 80, 120])
def test_wrapped_at_a_terminal(lab: Lab, columns: int) -> None:
    """No line is wider than the terminal, except one that has a single long word."""
    plain = drop_colours(screen(lab, *FAILS, columns=columns, status=1))
    for line in plain.splitlines():
        words = line.removeprefix("gpualert: ").split()
        assert len(line) <= columns or len(words) <= 2, line
    text = " ".join(plain.split())
    assert "gpualert: CUDA out of memory: 91.6 GiB requested on a 79.2 GiB card" in text
    assert f"gpualert: more gpualert show {lab.records()[0].name}" in text
    assert "gpualert: alert to mailbox sent" in text


def test_every_wrapped_line_is_below_its_text(lab: Lab) -> None:
    """The rest of a message begins below its text, so that the titles stand out."""
    plain = drop_colours(screen(lab, *FAILS, columns=60, status=1))
    for line in plain.splitlines():
        assert line.startswith(("gpualert: ", " " * len("gpualert: "))), line
    assert "\n" + " " * len("gpualert: do    ") + "raised" in plain


def test_colours_at_a_terminal(lab: Lab) -> None:
    """The headline of a failure is red, that of a success green, and titles are bold."""
    failed = screen(lab, *FAILS, columns=80, status=1)
    assert failed.startswith(b"gpualert: " + RED + b"CUDA out of memory")
    assert b"gpualert: \x1b[1mdo    \x1b[0m" in failed
    done = screen(lab, "run", "--", "true", columns=80, status=0)
    assert done.startswith(b"gpualert: " + GREEN + b"Completed with exit status 0")


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_colours(lab: Lab, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """With NO_COLOR or a dumb terminal the message is wrapped, and has no colours."""
    monkeypatch.setenv(name, value)
    shown = screen(lab, *FAILS, columns=60, status=1)
    assert ESCAPE not in shown
    assert b"on a 79.2\n          GiB card\n" in shown


def test_one_line_each_outside_of_a_terminal(lab: Lab) -> None:
    """In a file or a pipe each message is one line with the program's name, without colours."""
    done = lab.gpualert(*FAILS)
    assert ESCAPE not in done.stderr
    lines = done.stderr[done.stderr.index(b"gpualert: ") :].splitlines()
    assert all(line.startswith(b"gpualert: ") for line in lines)
    assert lines[0] == b"gpualert: CUDA out of memory: 91.6 GiB requested on a 79.2 GiB card"
    assert len(lab.run("true").stderr.splitlines()) == 1
