"""Actions on runs, for people who use the pages: stop, and take stacks."""

from __future__ import annotations

import threading
from collections import OrderedDict

from gpualert_common.errors import GPUAlertError
from gpualert_common.record import Record
from gpualert_common.stack_request import take_stacks
from gpualert_common.stacks.dump import Dump
from gpualert_common.stop_origin import WEB_COMMAND
from gpualert_common.stop_request import make_sender, stop_run

_ANSWER_S = 1.5
"""Time for which the answer to a stop waits, so that a quick end is on the next page."""
_MOST_KEPT = 16


class Actions:
    """The stops in progress, and the newest stacks of each run that records may not have."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopping: dict[str, _StopThread] = {}
        self._dumps: OrderedDict[str, Dump] = OrderedDict()

    def stop(self, record: Record) -> None:
        """Stop a run; return once that has begun, or failed.

        A second request while the first is in progress changes nothing.  Raises GPUAlertError,
        OSError if it cannot be stopped from here.
        """
        with self._lock:
            thread = self._stopping.get(record.path)
            if thread is None or not thread.is_alive():
                thread = self._stopping[record.path] = _StopThread(record.path)
                thread.start()
        thread.join(_ANSWER_S)
        if not thread.is_alive():
            with self._lock:
                self._stopping.pop(record.path, None)
        if thread.problem is not None:
            raise thread.problem

    def take_stacks(self, record: Record) -> None:
        """Take the stacks of a run, without pausing it.  Raises GPUAlertError, OSError."""
        dump = take_stacks(record)
        with self._lock:
            self._dumps[record.path] = dump
            self._dumps.move_to_end(record.path)
            while len(self._dumps) > _MOST_KEPT:
                self._dumps.popitem(last=False)

    def find_dump(self, record: Record) -> Dump | None:
        """Return the newest stacks that were taken here."""
        with self._lock:
            return self._dumps.get(record.path)


class _StopThread(threading.Thread):
    """One stop, which takes as long as the grace of the run."""

    def __init__(self, path: str) -> None:
        super().__init__(name="gpualert-stop", daemon=True)
        self._path = path
        self.problem: GPUAlertError | OSError | None = None

    def run(self) -> None:
        try:
            record = Record.open(self._path)
            try:
                stop_run(record, make_sender(WEB_COMMAND))
            finally:
                record.close()
        except (GPUAlertError, OSError) as error:
            self.problem = error
