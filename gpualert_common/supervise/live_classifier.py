"""Reads the logs as they grow and hands them to the classifier, at a bounded price.

A job that logs at human or at furious pace costs little: behind a log that grows faster than
``RATE_BYTES_S`` the classifier falls back to ``FLOOD_BYTES_S``, and what is left at the end beyond
the last ``*_TAIL_BYTES`` is named as not scanned.
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
    from typing import Any, Protocol

    from gpualert_common.launch.log_file import LogFile
    from gpualert_common.model import Verdict
    from gpualert_common.spec import Ending

    class LogClassifier(Protocol):
        """What makes a verdict of logs and an ending; anything here may raise or hang."""

        def prepare(self) -> None:
            """Do what takes long and needs no log."""

        def look(self) -> list[dict[str, Any]]:
            """Take in what was seen beside the logs; events to be written down of it.

            Called every second while the run goes on.
            """

        def feed(self, log: str, data: bytes, offset: int) -> None:
            """Read ``data``, which stands at ``offset`` of that log."""

        def conclude(self, ending: Ending, facts: dict[str, Any]) -> Verdict:
            """Return the verdict."""


CHUNK_BYTES = 128 << 10
"""Looking is bounded only from one piece to the next: 0.5 s of the slowest lines."""
RATE_BYTES_S = 64 << 20
"""Half of what a core scans; far above the 10 MB/s up to which a verdict is due within 25 ms."""
BURST_BYTES = 8 << 20
FLOOD_BYTES_S = 8 << 20
FLOOD_BACKLOG_BYTES = 128 << 20
"""A log this far ahead is not caught up with; chasing it would only cost the job a core."""
SUCCESS_TAIL_BYTES = 8 << 20
"""About 20 ms of scanning: enough for the end of a run that went well."""
FAILURE_TAIL_BYTES = 256 << 20
"""About a second of scanning: a failed run deserves it."""
LAST_BYTES = 64 << 10
"""What is read at a time at the end, and when the time is over: 0.3 s of the slowest lines."""
_READING_SHARE = 0.5
"""Of the time for a verdict; the rest is for what is read then, and for concluding."""
_LEAVE_S = 5.0
"""For a machine that has a tenth of a core for us."""
_BUSY_S = 0.05
_IDLE_S = 0.25
_LOOK_S = 1.0
_SETTLED_S = 1.0
"""A run this old has time for what the first line to read would otherwise wait for."""


class LiveClassifier:
    """Follows the logs of one run and concludes, in a thread that a hanging classifier may keep."""

    def __init__(self, logs: list[LogFile], evidence: Callable[[], LogClassifier]) -> None:
        self._logs = logs
        self._make_evidence = evidence
        self._evidence: LogClassifier | None = None
        self._offsets = dict.fromkeys((log.name for log in logs), 0)
        self._end: tuple[Ending, dict[str, Any]] | None = None
        self._stop = threading.Event()
        self._reading: LoadScaledDeadline | None = None
        self._given_up = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._verdict: Verdict | None = None
        self.problem: BaseException | None = None
        self.events: deque[dict[str, Any]] = deque()
        """To be written down by whoever takes them; those with ``news`` cannot wait."""

    def start(self) -> None:
        """Follow the logs from now on."""
        self._thread.start()

    def conclude(self, ending: Ending, facts: dict[str, Any], deadline_s: float) -> Verdict | None:
        """Return the verdict, or None with ``problem`` set when it cannot be had in time."""
        self._end = ending, facts
        self._reading = LoadScaledDeadline(deadline_s * _READING_SHARE)
        self._stop.set()
        if self._thread.ident is None:
            self._thread.start()
        deadline = LoadScaledDeadline(deadline_s)
        while self._thread.is_alive() and (left_s := deadline.left_s()):
            self._thread.join(left_s)
        if self._thread.is_alive():
            # The interpreter must not end while the thread is inside of RE2: that aborts it.
            self._given_up = True
            atexit.register(self._thread.join, _LEAVE_S)
            self.problem = TimeoutError("the classifier did not conclude in time")
        return self._verdict if self.problem is None else None

    def _run(self) -> None:
        try:
            self._get_evidence()  # its imports take longer than a verdict is given at the end
            self._follow()
            if self._end is not None:
                ending, facts = self._end
                self._read_rest(ending)
                if not self._given_up:
                    self._verdict = self._get_evidence().conclude(ending, facts)
        except Exception as error:  # noqa: BLE001 - the boundary: no fault of the classifier passes
            self.problem = error

    def _follow(self) -> None:
        allowance = float(BURST_BYTES)
        wait_s = _BUSY_S
        then = time.monotonic()
        prepare_at = look_at = then + _SETTLED_S
        while not self._stop.wait(wait_s):
            now = time.monotonic()
            rate = RATE_BYTES_S if self._backlog() <= FLOOD_BACKLOG_BYTES else FLOOD_BYTES_S
            allowance = min(BURST_BYTES, allowance + (now - then) * rate)
            then = now
            if now >= prepare_at:
                self._get_evidence().prepare()
                prepare_at = math.inf
            if now >= look_at:
                self.events += self._get_evidence().look()
                look_at = now + _LOOK_S
            read = 0
            for log in self._logs:
                while allowance > CHUNK_BYTES and not self._stop.is_set():
                    size = self._read_chunk(log)
                    if not size:
                        break
                    allowance -= size
                    read += size
            wait_s = _BUSY_S if read else min(_IDLE_S, wait_s + 0.01)

    def _backlog(self) -> int:
        return sum(log.size - self._offsets[log.name] for log in self._logs)

    def _read_chunk(self, log: LogFile, most_bytes: int = CHUNK_BYTES) -> int:
        offset = self._offsets[log.name]
        data = log.read(offset, most_bytes)
        if not data:
            if log.size < offset:
                self._offsets[log.name] = 0
            return 0
        self._get_evidence().feed(log.name, data, offset)
        self._offsets[log.name] = offset + len(data)
        return len(data)

    def _read_rest(self, ending: Ending) -> None:
        tail = SUCCESS_TAIL_BYTES if ending.code == 0 else FAILURE_TAIL_BYTES
        for log in self._logs:
            end = log.size
            self._offsets[log.name] = max(self._offsets[log.name], end - tail)
            while self._offsets[log.name] < end and self._read_chunk(log, LAST_BYTES):
                if self._reading is None or self._given_up or not self._reading.left_s():
                    # Its end tells most.
                    self._offsets[log.name] = max(self._offsets[log.name], end - LAST_BYTES)
                    self._read_chunk(log, LAST_BYTES)
                    break

    def _get_evidence(self) -> LogClassifier:
        if self._evidence is None:
            self._evidence = self._make_evidence()
        return self._evidence
