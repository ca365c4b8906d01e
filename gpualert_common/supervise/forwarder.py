"""Copies a log to a descriptor of ours while it grows, and never delays the child.

The log is the buffer: a slow reader only falls behind.  A pipe or a file gets every byte.  A
terminal that falls far behind skips to the present and says so.
"""

from __future__ import annotations

import errno
import os
import select
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.launch.log_file import LogFile

CHUNK_BYTES = 64 << 10
TERMINAL_BEHIND_BYTES = 1 << 20
TERMINAL_KEEPS_BYTES = 64 << 10
_READER_LEFT = (errno.EPIPE, errno.EIO, errno.EBADF)
"""The reader has gone; the log has everything."""
_BUSY_S = 0.02
_IDLE_S = 0.1


class Forwarder:
    """Copies one log to one descriptor, in a thread of its own that may block in ``write``.

    ``offsets[slot]`` holds how far it is, in memory that outlives the recorder: a replacement
    continues from there.
    """

    def __init__(self, log: LogFile, fd: int, offsets: memoryview, slot: int) -> None:
        self._log = log
        self._fd = fd
        self._terminal = os.isatty(fd)
        self._offsets = offsets
        self._slot = slot
        self._last_byte = b"\n"
        self._end: int | None = None
        self._wake = threading.Event()
        self.finished = False
        self.problem: OSError | None = None
        self.progress_at = time.monotonic()
        self._thread = threading.Thread(target=self._guarded_run, daemon=True)

    def start(self) -> None:
        """Start to copy."""
        self._thread.start()

    def finish(self) -> None:
        """Copy up to the present end of the log, then stop; returns at once."""
        self._end = self._log.size
        self.progress_at = time.monotonic()
        self._wake.set()

    @property
    def left_bytes(self) -> int:
        """Number of bytes that the reader has still to get."""
        return 0 if self._end is None else max(0, self._end - self._offset)

    def _guarded_run(self) -> None:
        try:
            self._run()
        except OSError as error:
            if error.errno not in _READER_LEFT:
                self.problem = error
        finally:
            self.finished = True

    def _run(self) -> None:
        wait_s = _BUSY_S
        while True:
            limit = CHUNK_BYTES
            if self._end is not None:
                limit = min(limit, self._end - self._offset)
                if limit <= 0:
                    return
            if self._terminal:
                self._skip_to_present()
            data = self._log.read(self._offset, limit)
            if data:
                self._write(data)
                wait_s = _BUSY_S
                continue
            if self._log.size < self._offset:
                self._offset = 0  # truncated: the child continues at its start
                continue
            if self._end is not None:
                return
            self._wake.wait(wait_s)
            wait_s = min(_IDLE_S, wait_s * 1.5)

    @property
    def _offset(self) -> int:
        return int(self._offsets[self._slot])

    @_offset.setter
    def _offset(self, value: int) -> None:
        self._offsets[self._slot] = value

    @property
    def in_mid_line(self) -> bool:
        """True when the last byte written did not end a line."""
        return self._last_byte not in (b"\n", b"\r")

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                written = os.write(self._fd, view)
            except BlockingIOError:  # a parent such as node left its end of the pipe non-blocking
                poll = select.poll()
                poll.register(self._fd, select.POLLOUT)
                poll.poll()
                continue
            view = view[written:]
            self._offset += written
            self.progress_at = time.monotonic()
        self._last_byte = data[-1:]

    def _skip_to_present(self) -> None:
        behind = self._log.size - self._offset
        if behind <= TERMINAL_BEHIND_BYTES:
            return
        start = self._offset + behind - TERMINAL_KEEPS_BYTES
        window = self._log.read(start, TERMINAL_KEEPS_BYTES)
        start += window.find(b"\n") + 1
        skipped = start - self._offset
        self._offset = start
        os.write(
            self._fd,
            f"\r\n[gpualert: {skipped:,} bytes not shown here; they are in the log]\r\n".encode(),
        )


def is_discard(fd: int) -> bool:
    """True when nobody reads the descriptor: it is closed or /dev/null."""
    try:
        return os.fstat(fd).st_rdev == os.stat(os.devnull).st_rdev
    except OSError:
        return True
