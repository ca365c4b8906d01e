"""The newest page of metrics, made by a thread of its own, so that a slow disk blocks no scrape."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from gpualert_common.exporter.exposition import format_reading
from gpualert_common.exporter.reading import Reading, RunReader
from gpualert_common.structs import replace

FRESH_S = 2.0
"""Age up to which a page is served again: several servers may scrape."""
WAIT_S = 5.0
"""Half of Prometheus' default timeout: after it the last page is served, which says its age."""


class MetricsPage:
    """The page of one reader; its methods can be called by several threads.

    ``on_problem`` gets a sentence about each reading that fails, if the last one did not.
    """

    def __init__(self, reader: RunReader, on_problem: Callable[[str], None]) -> None:
        self._reader = reader
        self._on_problem = on_problem
        self._lock = threading.Lock()
        self._is_ready = threading.Event()
        self._is_reading = False
        self._made_at = float("-inf")
        self._page: bytes | None = None
        self._reading: Reading | None = None
        self._failures = 0
        self._problem = ""

    def get(self, wait_s: float = WAIT_S) -> bytes | None:
        """Return the page, made anew if it is old and that takes at most ``wait_s``.

        None if there is none: the first reading takes longer, or failed.
        """
        with self._lock:
            if time.monotonic() - self._made_at <= FRESH_S:
                return self._page
            if not self._is_reading:
                try:
                    threading.Thread(target=self._make, daemon=True).start()
                except RuntimeError:
                    return self._page  # there are too many threads: the next scrape tries again
                self._is_reading = True
                self._is_ready.clear()
        self._is_ready.wait(wait_s)
        return self._page

    def _make(self) -> None:
        problem = ""
        try:
            self._reading = self._reader.read()
        except Exception as error:  # noqa: BLE001 - the exporter outlives every record
            problem = f"the runs cannot be read: {type(error).__name__}: {error}"
            self._failures += 1
        try:
            if self._reading is not None:
                reading = replace(self._reading, failures=self._failures)
                self._page = format_reading(reading, has_process=True)
        except Exception as error:  # noqa: BLE001 - as above
            problem = f"the page cannot be made: {type(error).__name__}: {error}"
            self._failures += 1
        with self._lock:
            self._made_at = time.monotonic()
            self._is_reading = False
            self._is_ready.set()
        if problem and problem != self._problem:
            self._on_problem(problem)
        self._problem = problem
