"""The program at a terminal of a certain width."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios

from tests.supervised import PROGRAM, Lab


def on_screen(
    lab: Lab, *arguments: str, columns: int, streams: tuple[str, ...] = ("stdout",), status: int = 0
) -> bytes:
    """Return the output of gpualert at a terminal of this width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    ends = dict.fromkeys(streams, slave)
    process = lab.start((*PROGRAM, *arguments), env=environment, **ends)
    os.close(slave)
    output = b""
    try:
        while data := os.read(master, 1 << 16):
            output += data
    except OSError:  # EIO: the program has ended
        pass
    os.close(master)
    assert process.wait(30) == status
    return output.replace(b"\r\n", b"\n")


def drop_colours(output: bytes) -> str:
    """Return the text of a screen without its colours."""
    return re.sub(rb"\x1b\[[0-9;]*m", b"", output).decode()
