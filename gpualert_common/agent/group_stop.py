"""The stop of a group of processes that a person requests; a restart of the agent continues it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Collection
from contextlib import suppress

from gpualert_common.processes.marker import run_marker
from gpualert_common.processes.tree import TreeOfLeaders
from gpualert_common.record import Record
from gpualert_common.record.watch_history import Identity
from gpualert_common.supervise.record_writer import RecordWriter
from gpualert_common.supervise.stop import Stop, read_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.end_record import Sender

STOP_THREAD = "group stop"
_NO_SIGNAL = 0
"""A second SIGTERM would end many a training while it saves because of the first one."""


class GroupStop:
    """The stop of one group; ``sender`` is who requested it, None while nobody did."""

    def __init__(self, record: Record, writer: RecordWriter, grace_s: float) -> None:
        self._record = record
        self._writer = writer
        self._grace_s = grace_s
        self.sender: Sender | None = None

    def resume(self, tops: Collection[Identity]) -> None:
        """Continue the stop that an earlier agent began, if it did; its grace ends as it would."""
        begun = self._record.event("stopping")
        if begun is None:
            return
        self.sender, given_s = read_terms(begun.fields)
        grace_s = self._grace_s if given_s is None else given_s
        left_s = begun.at + grace_s - time.time()
        self._start(tops, _NO_SIGNAL, min(max(0.0, left_s), grace_s))

    def take_requests(self, tops: Collection[Identity]) -> None:
        """Begin the stop that a person requests; only its user and root can write one."""
        with suppress(OSError):
            for request in self._record.requests():
                self._writer.append_event("request", request=request)
                self._record.forget(request)
                if request.get("kind") == "stop" and self.sender is None:
                    self.sender, given_s = read_terms(request)
                    grace_s = self._grace_s if given_s is None else given_s
                    number = signal.SIGTERM
                    self._writer.append_event(
                        "stopping", signal=int(number), sender=self.sender, grace_s=grace_s
                    )
                    self._start(tops, number, grace_s)

    def _start(self, tops: Collection[Identity], number: int, grace_s: float) -> None:
        tree = TreeOfLeaders(tops, run_marker(self._record.run_id))
        stop = Stop(tree, number, grace_s, time.monotonic())
        threading.Thread(target=stop.complete, name=STOP_THREAD, daemon=True).start()
