"""Copies of all outputs of a process, by a thread.

A file system that does not answer delays the copies, and nothing else.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from gpualert_common.agent.log_copy import MOST_BYTES, LogCopy
from gpualert_common.agent.output_files import Outputs
from gpualert_common.launch.preparation import PreparedRun
from gpualert_common.telemetry.nvml.background_call import BackgroundCall

_LAST_S = 2.0
"""For the end of the output; a file system that takes longer has stalled."""
_CLOSING_S = 0.5
_STALLED = "its file system does not answer"


class OutputCopies:
    """Copies of the files of *outputs* to the logs of a prepared run; it closes both.

    No log grows beyond *most_bytes* before the end.
    ``problems`` are those of the last turn.
    """

    def __init__(
        self,
        prepared: PreparedRun,
        outputs: Outputs,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        targets, prepared.log_fds = prepared.log_fds, []
        self._copies = [
            LogCopy(prepared.record, file, target, most_bytes)
            for file, target in zip(outputs.files, targets, strict=False)
        ]
        unused = [file.fd for file in outputs.files[len(targets) :]]
        for fd in (*targets[len(outputs.files) :], *unused):
            os.close(fd)
        self._is_last = False
        self._work = BackgroundCall(self._copy, "output")
        self.problems: frozenset[str] = frozenset()

    def take_turn(self) -> None:
        """Begin to copy what is new; returns at once."""
        self._take_result(0.0)
        self._work.request()

    def finish(self) -> None:
        """Copy to the end of the files; returns after two seconds at most."""
        deadline = time.monotonic() + _LAST_S
        self._take_result(deadline)
        self._is_last = True
        self._work.request()
        self._take_result(deadline)
        if self._work.requested_at is not None:
            self.problems |= {_STALLED}
        self.close()

    def close(self) -> None:
        """Stop the copies, and close the files unless one of them does not answer."""
        self._take_result(time.monotonic() + _CLOSING_S)
        self._work.stop()
        if self._work.requested_at is None:
            while self._copies:
                self._copies.pop().close()

    def _take_result(self, deadline: float) -> None:
        if self._work.requested_at is not None:
            with suppress(TimeoutError):
                self.problems = self._work.wait(deadline)

    def _copy(self) -> frozenset[str]:
        for copy in self._copies:
            copy.copy(is_last=self._is_last)
        return frozenset(copy.problem for copy in self._copies if copy.problem)
