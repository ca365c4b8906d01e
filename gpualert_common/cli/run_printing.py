"""The output of a followed run on this program's own stdout and stderr."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from gpualert_common import recover as recovery
from gpualert_common.cli import printing
from gpualert_common.record import Record
from gpualert_common.record.files import write_all

_POLL_S = 0.1
_CHUNK_BYTES = 1 << 16
_STDERR_LOG = "stderr.log"


class RunPrinter:
    """Prints the logs of one run while they grow; a log of stderr goes to stderr."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._logs = [(name, record.open_log(name)) for name in record.logs]
        self._offsets = dict.fromkeys(record.logs, 0)

    def print_until_end(self, check: Callable[[], None]) -> None:
        """Print until the run has ended; *check* is called ten times a second.

        Raises NoReaderError if nobody reads stdout any more.
        """
        while True:
            has_ended = not recovery.is_in_progress(self._record)
            printed = sum(self._print_new(name, fd) for name, fd in self._logs)
            check()
            if not printed:
                if has_ended:
                    return
                time.sleep(_POLL_S)

    def close(self) -> None:
        """Close the logs."""
        for _name, fd in self._logs:
            os.close(fd)

    def _print_new(self, name: str, fd: int) -> int:
        printed = 0
        while data := os.pread(fd, _CHUNK_BYTES, self._offsets[name]):
            if name == _STDERR_LOG:
                _write_stderr(data)
            else:
                printing.print_bytes(data)
            self._offsets[name] += len(data)
            printed += len(data)
        return printed


def _write_stderr(data: bytes) -> None:
    sys.stderr.flush()
    try:
        write_all(2, data)
    except OSError:
        pass  # nobody reads it
