"""Cache of reports, so that all who look at a run share one."""

from __future__ import annotations

import threading
import time


class ReportCache:
    """The newest report of each record, for ``keep_s`` seconds; at most ``most`` of them."""

    def __init__(self, *, keep_s: float, most: int) -> None:
        self._keep_s = keep_s
        self._most = most
        self._lock = threading.Lock()
        self._reports: dict[str, tuple[float, str]] = {}

    def get(self, path: str) -> str | None:
        """Return the report of the record at *path*; None if it is not kept."""
        with self._lock:
            self._drop_old()
            found = self._reports.get(path)
        return found and found[1]

    def put(self, path: str, report: str) -> None:
        """Keep a report that was made now."""
        with self._lock:
            self._drop_old()
            self._reports.pop(path, None)
            if len(self._reports) >= self._most:
                del self._reports[next(iter(self._reports))]
            self._reports[path] = (time.monotonic() + self._keep_s, report)

    def _drop_old(self) -> None:
        now = time.monotonic()
        self._reports = {path: one for path, one in self._reports.items() if one[0] > now}
