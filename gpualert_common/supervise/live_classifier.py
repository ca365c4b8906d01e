"""Passes the logs to the classifier while they grow, at a bounded cost.

While a log grows faster than ``RATE_BYTES_S``, the classifier reads only ``FLOOD_BYTES_S`` of it.
At the end it reads the last ``*_TAIL_BYTES``; where that takes too long, it leaves out the middle.
The verdict says how much was not scanned.
"""

from __future__ import annotations

import atexit
import math
import threading
import time
from collections import deque

from gpualert_common.processes.load_scaled_deadline import LoadScaledDeadline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from gpualert_common.launch.log_file import LogFile
    from gpualert_common.model import Verdict
    from gpualert_common.record import Event
    from gpualert_common.spec import EndFacts, Ending

    class LogClassifier(Protocol):
        """Turns logs and an ending into a verdict; each method may raise or hang."""

        def prepare(self) -> None:
            """Do the slow work that needs no log."""

        def update(self) -> list[Event]:
            """Read new telemetry; return the events to append: warnings raised and withdrawn.

            Called every second while the run goes on.
            """

        def feed(self, log: str, data: bytes, offset: int) -> None:
            """Read ``data``, found at ``offset`` of that log."""

        def conclude(self, ending: Ending, facts: EndFacts) -> Verdict:
            """Return the verdict."""


CHUNK_BYTES = 128 << 10
"""The deadline is checked between chunks only."""
RATE_BYTES_S = 64 << 20
"""Half of a core's scanning rate; a verdict is due within 25 ms up to 10 MB/s."""
BURST_BYTES = 8 << 20
FLOOD_BYTES_S = 8 << 20
FLOOD_BACKLOG_BYTES = 128 << 20
"""The classifier does not catch up with a log this far ahead: that would cost the job a core."""
SUCCESS_TAIL_BYTES = 8 << 20
"""About 20 ms of scanning: enough for the end of a successful run."""
FAILURE_TAIL_BYTES = 256 << 20
"""About a second of scanning."""
LAST_BYTES = 64 << 10
"""Chunk at the end, also after the deadline."""
_READING_SHARE = 0.5
"""Part of the verdict deadline that is for reading; the rest is for the conclusion."""
_EXIT_S = 5.0
"""On a machine with a free core; longer where it is busy."""
_BUSY_S = 0.02
"""Between two reads of a growing log.  A job that logs 10 MB/s writes 0.2 MB in this time; reading
them takes 5 ms, for which a verdict waits."""
_IDLE_S = 0.25
_UPDATE_S = 1.0
PREPARE_AFTER_S = 1.0
"""A run this old has time for the preparation; else the first line would wait for it."""


class LiveClassifier:
    """Follows the logs of one run and concludes, in a thread that a classifier may block."""

    def __init__(self, logs: list[LogFile], make_classifier: Callable[[], LogClassifier]) -> None:
        self._logs = logs
        self._make_classifier = make_classifier
        self._classifier: LogClassifier | None = None
        self._offsets = dict.fromkeys((log.name for log in logs), 0)
        self._end: tuple[Ending, EndFacts] | None = None
        self._stop = threading.Event()
        self._reading_s = 0.0
        self._given_up = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        # Joining would register the recorder's thread, which is not one of `threading`, for ever.
        self._is_done = threading.Event()
        self.verdict: Verdict | None = None
        """The verdict; None before it is made, and if it failed because of the ``problem``."""
        self.problem: BaseException | None = None
        self._events: deque[Event] = deque()

    def take_events(self) -> list[Event]:
        """Return the events to append that came since the last call."""
        return [self._events.popleft() for _number in range(len(self._events))]

    def start(self) -> None:
        """Start to follow the logs."""
        self._thread.start()

    def conclude(self, ending: Ending, facts: EndFacts, deadline_s: float) -> bool:
        """Make the verdict; False when it is late: it is still being made after the deadline."""
        self._end = ending, facts
        self._reading_s = deadline_s * _READING_SHARE
        self._stop.set()
        if self._thread.ident is None:
            self._thread.start()
        deadline = LoadScaledDeadline(deadline_s)
        while not self._is_done.is_set() and (left_s := deadline.left_s()):
            self._is_done.wait(left_s)
        return self._is_done.is_set()

    def wait(self) -> None:
        """Wait for a late verdict, without a deadline."""
        self._is_done.wait()

    def give_up(self) -> None:
        """Abandon a late verdict."""
        self._given_up = True
        atexit.register(self._await_end)

    def _await_end(self) -> None:
        """Wait for the thread: an interpreter that exits while it is inside of RE2 aborts."""
        deadline = LoadScaledDeadline(_EXIT_S)
        while self._thread.is_alive() and (left_s := deadline.left_s()):
            self._thread.join(left_s)

    def _run(self) -> None:
        try:
            self._get_classifier()  # its imports take longer than the verdict deadline
            self._follow()
            if self._end is not None:
                ending, facts = self._end
                self._read_rest(ending)
                if not self._given_up:
                    self.verdict = self._get_classifier().conclude(ending, facts)
        except Exception as error:  # noqa: BLE001 - the boundary: no fault of the classifier passes
            self.problem = error
        finally:
            self._is_done.set()

    def _follow(self) -> None:
        allowance = float(BURST_BYTES)
        wait_s = _BUSY_S
        then = time.monotonic()
        prepare_at = update_at = then + PREPARE_AFTER_S
        while not self._stop.wait(wait_s):
            now = time.monotonic()
            rate = RATE_BYTES_S if self._backlog() <= FLOOD_BACKLOG_BYTES else FLOOD_BYTES_S
            allowance = min(BURST_BYTES, allowance + (now - then) * rate)
            then = now
            if now >= prepare_at:
                self._get_classifier().prepare()
                prepare_at = math.inf
            if now >= update_at:
                self._events += self._get_classifier().update()
                update_at = now + _UPDATE_S
            read = 0
            for log in self._logs:
                while allowance > CHUNK_BYTES and not self._stop.is_set():
                    size = self._read_chunk(log)
                    if not size:
                        break
                    allowance -= size
                    read += size
            wait_s = _BUSY_S if read else min(_IDLE_S, wait_s * 1.5)

    def _backlog(self) -> int:
        return sum(log.size - self._offsets[log.name] for log in self._logs)

    def _read_chunk(self, log: LogFile, most_bytes: int = CHUNK_BYTES) -> int:
        offset = self._offsets[log.name]
        data = log.read(offset, most_bytes)
        if not data:
            if log.size < offset:
                self._offsets[log.name] = 0
            return 0
        self._get_classifier().feed(log.name, data, offset)
        self._offsets[log.name] = offset + len(data)
        return len(data)

    def _read_rest(self, ending: Ending) -> None:
        tail = SUCCESS_TAIL_BYTES if ending.code == 0 else FAILURE_TAIL_BYTES
        for log in self._logs:
            end = log.size
            if not end:
                self._get_classifier().feed(log.name, b"", 0)  # it was read, and is empty
            self._skip_to(log, end - tail)
            begin = self._offsets[log.name]
            if self._read_on(log, end):
                continue
            # The end says most: as much of it is read as can be in the other half of the time.
            self._skip_to(log, end - (self._offsets[log.name] - begin))
            if not self._read_on(log, end):
                self._skip_to(log, end - LAST_BYTES)
                self._read_chunk(log, LAST_BYTES)

    def _read_on(self, log: LogFile, end: int) -> bool:
        """Read up to *end* for half of the time that is left to *log*; True when all is read."""
        deadline = LoadScaledDeadline(self._reading_s / len(self._logs) / 2)
        while self._offsets[log.name] < end and self._read_chunk(log, LAST_BYTES):
            if self._given_up or not deadline.left_s():
                return self._offsets[log.name] >= end
        return True

    def _skip_to(self, log: LogFile, offset: int) -> None:
        self._offsets[log.name] = max(self._offsets[log.name], offset)

    def _get_classifier(self) -> LogClassifier:
        if self._classifier is None:
            self._classifier = self._make_classifier()
        return self._classifier
