"""A pipe or a terminal in front of the log, and the process that copies from it to the log.

The child writes into a pipe (``log_full = "drop"``, for users who prefer a cut log to a dead job)
or to a terminal (``pty``, for programs that draw bars only there).  A small process in a session of
its own copies that to the log, also after the supervisor's death.  Bytes that the disk does not
take are dropped and counted, in a file whose own bytes are on the disk beforehand.  If that process
is killed, the child gets SIGPIPE, or EIO from a terminal: hence both are opt-in.

The terminal adds no carriage returns, and is the controlling terminal of nobody: no signal comes
from it.
"""

from __future__ import annotations

import os
import sys

_COUNT = b"%020d\n"
_CHUNK_BYTES = 1 << 20
_RESIZE_POLL_S = 0.5
_SIZE = (24, 80, 0, 0)
"""Rows and columns where there is no screen to have the size of, as in cron."""
_NO_SCREEN = -1


def count_file(log: str) -> str:
    """Return the name of the file in the record that counts the dropped bytes of that log."""
    return f"{log}.dropped"


def start_copier(log_fd: int, count_fd: int, *, is_terminal: bool) -> tuple[int, int]:
    """Start the copying process; return the descriptor for the child and the process's number.

    A terminal follows the size of the one that this process has, if any.
    """
    import subprocess

    from gpualert_common.launch.spawn import Child

    os.pwrite(count_fd, _COUNT % 0, 0)
    os.fsync(count_fd)
    screen = next(filter(os.isatty, (1, 2, 0) if is_terminal else ()), _NO_SCREEN)
    read_fd, write_fd = _open_terminal(screen) if is_terminal else os.pipe2(os.O_CLOEXEC)
    if screen != _NO_SCREEN:
        screen = os.dup(screen)  # the first three are others in the copying process
    kept = [fd for fd in (log_fd, count_fd, screen) if fd != _NO_SCREEN]
    try:
        copier = Child(
            [sys.executable, "-I", "-S", os.path.abspath(__file__)]
            + [str(fd) for fd in (log_fd, count_fd, screen)],
            stdin=read_fd,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=kept,
            start_new_session=True,
        )
    except OSError:
        os.close(write_fd)
        raise
    finally:
        os.close(read_fd)
        if screen != _NO_SCREEN:
            os.close(screen)
    return write_fd, copier.pid


def _open_terminal(screen: int) -> tuple[int, int]:
    """Return both ends of a new terminal of the screen's size that passes output on as it is.

    Raises OSError.
    """
    import termios

    read_fd, write_fd = os.openpty()
    try:
        modes = termios.tcgetattr(write_fd)
        modes[1] &= ~termios.OPOST
        termios.tcsetattr(write_fd, termios.TCSANOW, modes)
    except termios.error as error:
        os.close(read_fd)
        os.close(write_fd)
        raise OSError(*error.args) from None
    _set_size(read_fd, screen)
    return read_fd, write_fd


def _set_size(terminal: int, screen: int) -> None:
    """Give the terminal the size of the screen, if that has one."""
    import fcntl
    import struct
    import termios

    size = struct.pack("HHHH", *_SIZE)
    try:
        found = fcntl.ioctl(screen, termios.TIOCGWINSZ, size) if screen != _NO_SCREEN else size
        size = found if all(struct.unpack("HHHH", found)[:2]) else size
    except OSError:
        return  # the window was closed: the last size stays
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)


def copy(source: int, log_fd: int, count_fd: int) -> None:
    """Copy until the last writer is gone; count the bytes that the log does not take."""
    dropped = 0
    while data := _read(source):
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(log_fd, view) :]
            except OSError:
                dropped += len(view)
                os.pwrite(count_fd, _COUNT % dropped, 0)
                break


def _read(source: int) -> bytes:
    try:
        return os.read(source, _CHUNK_BYTES)
    except OSError:  # EIO: nobody has the terminal open any more
        return b""


def follow_size(terminal: int, screen: int) -> None:
    """Give the terminal the size of the screen again and again; never returns."""
    import time

    while True:
        time.sleep(_RESIZE_POLL_S)
        _set_size(terminal, screen)


if __name__ == "__main__":  # imports nothing of ours, so it needs no bootstrap
    log, count, its_screen = map(int, sys.argv[1:])
    if its_screen != _NO_SCREEN:
        import threading

        threading.Thread(target=follow_size, args=(0, its_screen), daemon=True).start()
    copy(0, log, count)
