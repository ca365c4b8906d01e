"""Progress of a run from its logs, while they grow."""

from __future__ import annotations

from gpualert_common.progress.merging import merge_progress
from gpualert_common.progress.model import Progress
from gpualert_common.progress.reader import ProgressReader, load_formats

WHOLE_BYTES = 32 << 20
"""Bytes of each log that are read completely: half a million lines, a second of CPU time."""
WINDOW_BYTES = 64 << 10
"""Bytes read of each further :data:`SPACING_BYTES`, and of the end of the log."""
SPACING_BYTES = 1 << 20


class TrainingLogs:
    """Readers of all logs of a run.  Of a long log they read windows.

    Not thread-safe.  Never raises, whatever the logs contain: a failure affects one log only, and
    is described in ``problem``.
    """

    def __init__(self) -> None:
        self.problem = ""
        self._readers: dict[str, ProgressReader | None] = {}
        self._ends: dict[str, tuple[bytes, int]] = {}
        self._lines: dict[str, int] = {}

    @staticmethod
    def prepare() -> None:
        """Load all formats before there is a log to read."""
        load_formats()

    def feed(self, log: str, data: bytes, offset: int) -> None:
        """Add the bytes of a log at ``offset``, in the order of the file."""
        until = offset + len(data)
        before = self._lines.get(log, 0)
        self._lines[log] = before + data.count(b"\n")
        if until <= WHOLE_BYTES:
            self._feed(log, data, offset)
            return
        end, begin = self._ends.get(log, (b"", offset))
        end = (end if begin + len(end) == offset else b"") + data
        self._ends[log] = end[-WINDOW_BYTES:], until - min(len(end), WINDOW_BYTES)
        for window in range(offset // SPACING_BYTES * SPACING_BYTES, until, SPACING_BYTES):
            length = SPACING_BYTES if window < WHOLE_BYTES else WINDOW_BYTES
            begin, end_of = max(window, offset), min(window + length, until)
            if begin < end_of:
                line = before + data.count(b"\n", 0, begin - offset) + 1
                self._feed(log, data[begin - offset : end_of - offset], begin, line)

    def reset(self, log: str) -> None:
        """Forget the content of a log that was truncated."""
        self._readers.pop(log, None)
        self._ends.pop(log, None)
        self._lines.pop(log, None)

    def snapshot(self) -> Progress | None:
        """Return the progress so far, None if nothing could be read.  Never raises.

        Feeding can continue.  The cost is that of reading the last 64 KiB of each log again.
        """
        try:
            readers = self._readers.values()
            read = [reader.snapshot() for reader in readers if reader is not None]
            return merge_progress(read) if read else None
        except Exception:  # noqa: BLE001 - the boundary: logs can contain anything
            return None

    def finish(self) -> Progress | None:
        """Return the progress, None if nothing could be read.  Call it once, last."""
        for log, (end, offset) in self._ends.items():
            self._feed(log, end, offset, self._lines[log] - end.count(b"\n") + 1)
        try:
            read = [reader.finish() for reader in self._readers.values() if reader is not None]
            return merge_progress(read) if read else None
        except Exception as error:  # noqa: BLE001 - the boundary: logs can contain anything
            self.problem = f"{type(error).__name__}: {error}"
            return None

    def _feed(self, log: str, data: bytes, offset: int, line: int | None = None) -> None:
        reader = self._readers.setdefault(log, ProgressReader(log))
        if reader is None:
            return
        try:
            reader.feed(data, offset, line)
        except Exception as error:  # noqa: BLE001 - as above
            self.problem = f"{log}: {type(error).__name__}: {error}"
            self._readers[log] = None
