"""A terminal for tests: a run at it, its screen and its keys; the fixture `terminal`."""

from __future__ import annotations

import os
import pty
import select
import subprocess
from collections.abc import Iterator

import pytest

from tests.supervised import PROGRAM, Lab, until


class Terminal:
    """A terminal whose screen the test reads, or does not."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        self.shown = b""

    def start(self, lab: Lab, *command: str) -> subprocess.Popen[bytes]:
        """Start a command in a new session with this terminal."""
        ends = {"stdin": self.slave, "stdout": self.slave, "stderr": self.slave}
        process = lab.start(("setsid", "--ctty", "--wait", *command), **ends)
        os.close(self.slave)
        return process

    def read(self) -> None:
        """Read the screen."""
        while select.select([self.master], [], [], 0)[0]:
            try:
                data = os.read(self.master, 1 << 16)
            except OSError:  # EIO: the other end is closed
                return
            self.shown += data

    def shows(self, text: bytes) -> None:
        """Return when this text is on the screen."""

        def there() -> bool:
            self.read()
            return text in self.shown

        until(there, f"the terminal to show {text!r}")

    def close(self) -> None:
        """Close the window."""
        if self.master >= 0:
            os.close(self.master)
            self.master = -1


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """A terminal of this test, without colours."""
    monkeypatch.setenv("NO_COLOR", "1")
    opened = Terminal()
    yield opened
    opened.close()


def run_at(terminal: Terminal, lab: Lab, *command: str) -> subprocess.Popen[bytes]:
    """Start ``gpualert run -- command`` at that terminal."""
    return terminal.start(lab, *PROGRAM, "run", "--", *command)
