"""``log_full = "drop"``: a pipe in front of the log, for users who prefer a cut log to a dead job.

The child writes into a pipe, and a small process in a session of its own copies it to the log, also
after the supervisor's death.  Bytes that the disk does not take are dropped and counted, in a file
whose own bytes are on the disk beforehand.  If that process is killed, the child gets SIGPIPE:
hence opt-in.
"""

from __future__ import annotations

import os
import sys

_COUNT = b"%020d\n"
_CHUNK_BYTES = 1 << 20


def count_file(log: str) -> str:
    """Return the name of the file in the record that counts the dropped bytes of that log."""
    return f"{log}.dropped"


def start_copier(log_fd: int, count_fd: int) -> tuple[int, int]:
    """Start the copying process; return the descriptor for the child and the process's number."""
    import subprocess

    from gpualert_common.launch.spawn import Child

    os.pwrite(count_fd, _COUNT % 0, 0)
    os.fsync(count_fd)
    read_fd, write_fd = os.pipe2(os.O_CLOEXEC)
    try:
        copier = Child(
            [sys.executable, "-I", "-S", os.path.abspath(__file__), str(log_fd), str(count_fd)],
            stdin=read_fd,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(log_fd, count_fd),
            start_new_session=True,
        )
    except OSError:
        os.close(write_fd)
        raise
    finally:
        os.close(read_fd)
    return write_fd, copier.pid


def copy(source: int, log_fd: int, count_fd: int) -> None:
    """Copy until the last writer is gone; count the bytes that the log does not take."""
    dropped = 0
    while data := os.read(source, _CHUNK_BYTES):
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(log_fd, view) :]
            except OSError:
                dropped += len(view)
                os.pwrite(count_fd, _COUNT % dropped, 0)
                break


if __name__ == "__main__":  # imports nothing of ours, so it needs no bootstrap
    copy(0, int(sys.argv[1]), int(sys.argv[2]))
