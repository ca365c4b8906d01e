"""Looks, while a run goes on, for what its people should hear before the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gpualert_common.classify.resolve import Resolution, resolve
from gpualert_common.classify.rules import RuleSet
from gpualert_common.diagnose import early
from gpualert_common.diagnose.early import Sign
from gpualert_common.diagnose.evidence import Evidence, Observed, Printing
from gpualert_common.diagnose.warned import Warned
from gpualert_common.model import ExitFacts
from gpualert_common.progress import Progress
from gpualert_common.regex import compile_bytes
from gpualert_common.telemetry.series import Telemetry
from gpualert_common.telemetry.source import PERIOD_S

_ODD = compile_bytes(rb"(?i)\b(?:nan|inf|infinity)\b")
"""Without such a word there is no loss that is not finite, and the training need not be read."""
_READING_SHARE = 1 / 200
"""Of a core, for reading how the training goes on: its last 64 KiB are read again each time."""
_AWAY_S = 6 * PERIOD_S
"""After a longer time without a look the machine slept, or the clock was set: nobody was silent."""
_MOST_PAUSE_S = 15.0
"""After the first time, which makes the patterns, one would else wait for half a minute."""


class Lookout:
    """The early warnings of a run, judged every few seconds.  Not thread-safe."""

    def __init__(
        self,
        launch_record: Mapping[str, Any],
        events: Iterable[Mapping[str, Any]],
        pid: int | None,
        rules: RuleSet,
    ) -> None:
        """``events`` are those of the record: a recorder before us may have warned."""
        self._started_at = float(launch_record.get("created_at") or 0.0)
        self._command = tuple(map(str, launch_record.get("command") or ()))
        self._pid = pid
        self._facts = ExitFacts(code=None)
        self._resolution: Resolution = resolve((), self._facts, rules, running=True)
        self._due = self._read_due = 0.0
        self._printed_at = self._looked_at = self._back_at = 0.0
        self._printing = Printing()
        self._has_odd = self._has_more = True
        self._broken: set[str] = set()
        self.warned = Warned(events)

    def notice(self, data: bytes) -> None:
        """What the logs have more."""
        self._has_more = True
        self._has_odd = self._has_odd or _ODD.search(data) is not None

    def look(
        self, telemetry: Telemetry, printed_at: float, read: Callable[[], Progress | None]
    ) -> list[dict[str, Any]]:
        """The events to be written down, mostly none; looks no more often than sources do.

        ``printed_at`` is when the logs last grew, ``read`` how the training's progress is had.
        """
        clock = time.monotonic()
        if clock < self._due:
            return []
        self._due = clock + PERIOD_S
        now = time.time()
        if self._looked_at and not 0 <= now - self._looked_at <= _AWAY_S:
            self._back_at = now
        self._looked_at = now
        self._note_print(min(printed_at, now))
        observed = Observed(
            telemetry,
            self._pid,
            self._started_at,
            now,
            last_output_at=min(max(self._started_at, printed_at, self._back_at), now),
            progress=self._progress(clock, read),
            command=self._command,
            printing=self._printing,
        )
        signs, problems = self._judged(Evidence(self._resolution, self._facts, observed))
        return [*problems, *self.warned.see(signs, now)]

    def _judged(self, evidence: Evidence) -> tuple[dict[str, Sign], list[dict[str, Any]]]:
        """What is seen, and an event for each kind that could not be judged, once."""
        signs, problems = {}, []
        for kind, found in early.judge(evidence):
            if isinstance(found, Sign):
                signs[kind] = found
            elif kind not in self._broken:
                self._broken.add(kind)
                problem = f"{type(found).__name__}: {found}"
                problems.append({"event": "warning_failed", "kind": kind, "problem": problem})
        return signs, problems

    def _note_print(self, at: float) -> None:
        if at <= self._printed_at:
            return
        pause_s = at - max(self._printed_at, self._back_at) if self._printed_at else 0.0
        longest_s = max(self._printing.longest_pause_s, pause_s)
        self._printing = Printing(self._printing.moments + 1, longest_s)
        self._printed_at = at

    def _progress(self, clock: float, read: Callable[[], Progress | None]) -> Progress | None:
        """How the training goes on, where there may be news in it, and at a bounded price."""
        wanted = self._has_odd or (self._has_more and self.warned.holds("nan"))
        if not wanted or clock < self._read_due:
            return None
        began_s = time.thread_time()
        progress = read()
        pause_s = (time.thread_time() - began_s) / _READING_SHARE
        self._read_due = clock + min(pause_s, _MOST_PAUSE_S)
        self._has_odd = self._has_more = False
        return progress
