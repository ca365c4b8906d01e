"""From logs and an ending to a verdict: the same way for a live run, a lost one, and an old log."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from gpualert_common.classify import (
    CHUNK_BYTES,
    Reading,
    RuleSet,
    Scanner,
    load_rules,
    prepare,
    telling,
)
from gpualert_common.diagnose import conclude, to_json
from gpualert_common.diagnose.compared import as_source
from gpualert_common.diagnose.evidence import Observed
from gpualert_common.diagnose.lookout import Lookout
from gpualert_common.diagnose.warned import Warned
from gpualert_common.errors import RuleError
from gpualert_common.model import ExitFacts, Verdict
from gpualert_common.observe.series import Telemetry, look_once
from gpualert_common.observe.source import Subject
from gpualert_common.progress import Progress, Training, read_index, stepped
from gpualert_common.record import INDEX, Record
from gpualert_common.spec import Ending

if TYPE_CHECKING:
    from gpualert_common.history import Recalled

_LEAST_S = 1.0
"""A shorter run trained nothing: it is compared with no other, and no other one with it."""
_MOST_MOMENTS = 1000
"""At which a log grew; then the time of a line is known to a thousandth of the run's."""


class Judge:
    """Reads the logs of one run piece by piece and concludes once, at the end.

    What else was seen of the run stands in its ``record``; of an old log alone there is none.
    The user's own rules are those that the launch record names.  A rule file that is broken is
    left out and named among the verdict's warnings.
    """

    def __init__(
        self, launch_record: dict[str, Any] | None = None, record: Record | None = None
    ) -> None:
        self._launch_record = launch_record or {}
        self._record = record
        self._telemetry = Telemetry()
        own = self._launch_record.get("rules")
        self._rules, broken = _live_rules(own, _state_of(own))
        self._faults = [("broken_rule", f"left out: {error}") for error in broken]
        self._scanners: dict[str, Scanner] = {}
        self._next: dict[str, int] = {}
        self._training = Training()
        self._recalled: Recalled | None = None
        self._readings: list[Reading] = []
        self._lookout: Lookout | None = None
        self._is_blind = False

    def prepare(self) -> None:
        """Make the rules ready for matching, some 0.15 s of CPU, before there is a log to read, and
        look up what ran before."""
        prepare(self._rules)
        self._recall()

    def _recall(self) -> Recalled:
        if self._recalled is None:
            from gpualert_common.history import Recalled, recall  # a short run needs none

            path = "" if self._record is None else self._record.path
            try:
                self._recalled = recall(path, self._launch_record) if path else Recalled()
            except Exception as error:  # noqa: BLE001 - the boundary: it costs a comparison alone
                self._recalled = Recalled(problem=f"{type(error).__name__}: {error}")
        return self._recalled

    def look(self) -> list[dict[str, Any]]:
        """Take in what was seen beside the logs of a run that goes on since the last time.

        What is to be written down of it as events of the record: warnings that come and go.
        """
        if self._record is None or self._is_blind:
            return []
        self._read_telemetry(self._record)
        try:
            if self._lookout is None:
                self._lookout = _lookout(self._record, self._launch_record, self._rules)
            written_at = _printed_at(self._record, self._launch_record)
            return self._lookout.look(self._telemetry, written_at, self._training.so_far)
        except Exception as error:  # noqa: BLE001 - the boundary: without warnings a verdict is due
            self._is_blind = True
            return [{"event": "warning_failed", "problem": f"{type(error).__name__}: {error}"}]

    def _read_telemetry(self, record: Record) -> None:
        with suppress(OSError):  # a disk that fails costs what it held, and no verdict
            self._telemetry.read(record)

    def feed(self, log: str, data: bytes, offset: int) -> None:
        """Read ``data``, which stands at ``offset`` of that log.

        An offset before what was read means that the log was truncated and begins anew.
        """
        if offset < self._next.get(log, 0):
            self._readings.append(self._scanners.pop(log).finish())
            self._training.begin_anew(log)
        if log not in self._scanners:
            self._scanners[log] = Scanner(self._rules, log)
        self._scanners[log].feed(data, offset)
        self._training.feed(log, data, offset)
        if self._lookout is not None:
            self._lookout.notice(data)
        self._next[log] = offset + len(data)

    def feed_file(self, path: str, name: str, most_bytes: int | None = None) -> None:
        """Read a file, cited as ``name``; of one with more than ``most_bytes`` begin and end.

        Raises OSError.
        """
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if most_bytes is not None and size > most_bytes:
                for offset in range(0, most_bytes // 2, CHUNK_BYTES):
                    self.feed(name, file.read(CHUNK_BYTES), offset)
                self.feed_stream(file, name, file.seek(size - most_bytes // 2))
            else:
                self.feed_stream(file, name)

    def feed_stream(self, stream: BinaryIO, name: str, offset: int = 0) -> None:
        """Read a stream, which stands at ``offset``, to its end, cited as ``name``.

        Raises OSError.
        """
        self.feed(name, b"", offset)
        while data := stream.read(CHUNK_BYTES):
            self.feed(name, data, offset)
            offset += len(data)

    def conclude(self, ending: Ending | None, facts: dict[str, Any]) -> dict[str, Any]:
        """The verdict as its JSON object; of a run that goes on when there is no ending."""
        self._readings += [scanner.finish() for scanner in self._scanners.values()]
        self._scanners.clear()
        verdict = conclude(
            run_id=self._launch_record.get("run_id"),
            attempt=(self._launch_record.get("custody") or {}).get("number", 1),
            host=self._launch_record.get("host"),
            log_path=facts.get("log_path"),
            readings=self._readings,
            facts=_exit_facts(Ending(0.0) if ending is None else ending, facts),
            rules=self._rules,
            running=ending is None,
            observed=self._observed(ending),
        )
        fields = to_json(verdict)
        fields["warnings"] += [{"kind": kind, "text": text} for kind, text in self._faults]
        fields["warnings"] += self._warned(verdict)
        return fields

    def _warned(self, verdict: Verdict) -> list[dict[str, str]]:
        """What was warned of while it went on, by what we saw, else by the record's events."""
        if self._record is None:
            return []
        try:
            if self._lookout is not None:
                return self._lookout.warned.told(verdict)
            return Warned(self._record.events()).told(verdict)
        except Exception as error:  # noqa: BLE001 - the boundary: the record may be damaged
            text = f"what was warned of is not known: {type(error).__name__}: {error}"
            return [{"kind": "warnings_lost", "text": text}]

    def _observed(self, ending: Ending | None) -> Observed:
        """What was seen beside the words of the logs; a fault in it costs that, and no verdict."""
        progress = self._training.finish()
        if self._training.problem:
            self._faults.append(("progress_unread", self._training.problem))
        if self._record is None:
            return Observed(Telemetry(), progress=progress)
        try:
            return self._seen(self._record, ending, progress)
        except Exception as error:  # noqa: BLE001 - the boundary: the record may be damaged
            self._faults.append(("not_observed", f"{type(error).__name__}: {error}"))
            return Observed(self._telemetry, progress=progress)

    def _seen(self, record: Record, ending: Ending | None, progress: Progress | None) -> Observed:
        self._read_telemetry(record)
        started_at = self._launch_record.get("created_at") or 0.0
        pid = (record.event("launched") or {}).get("pid") if ending is None else ending.pid
        looked = self._telemetry.sources or not self._launch_record.get("observe")
        if ending is not None and not looked:
            # It was over before anybody looked; this can still be read.
            subject = Subject(record.run_id, pid or 0, "", started_at, record.path)
            left = "checkpoints" if ending.code == 0 else "kernel_log"
            self._telemetry.add(*look_once(left, subject))
        ended_at = (None if ending is None else ending.ended_at) or time.time()
        recalled = None
        if ending is not None and ending.code == 0 and ended_at - started_at >= _LEAST_S:
            recalled = self._recall()
            self._telemetry.add(as_source(recalled), ())
        written_at = _printed_at(record, self._launch_record)
        command = tuple(map(str, self._launch_record.get("command") or ()))
        return Observed(
            self._telemetry,
            pid,
            started_at,
            ended_at,
            last_output_at=min(max(started_at, written_at), ended_at),
            progress=progress,
            command=command,
            host=self._launch_record.get("host"),
            stepping=None if ending is None else self._stepping(record, ended_at, progress),
            earlier=() if recalled is None else recalled.runs,
        )

    def _stepping(
        self, record: Record, ended_at: float, progress: Progress | None
    ) -> tuple[int, float] | None:
        """Steps and seconds by the clock, of a training whose lines do not tell."""
        points = () if progress is None else progress.points
        logs = list(self._launch_record.get("logs", ()))
        told = any(point.step_s or point.throughput for point in points)
        if progress is None or not points or told or points[-1].file not in logs:
            return None
        try:
            with open(record.open_log(INDEX), "rb") as file:
                lines = file.readlines()
        except OSError:
            return None  # of a short run there is none
        index = b"".join(lines[:: len(lines) // _MOST_MOMENTS + 1])
        started_at = self._launch_record.get("created_at") or 0.0
        arrivals = read_index(index, started_at, logs.index(points[-1].file))
        return stepped(progress, [*arrivals, (ended_at, sys.maxsize)])


def _lookout(record: Record, launch_record: dict[str, Any], rules: RuleSet) -> Lookout:
    """One that goes on where a scribe before us may have ended."""
    pid = (record.event("launched") or {}).get("pid")
    return Lookout(launch_record, record.events(), pid, rules)


def _printed_at(record: Record, launch_record: dict[str, Any]) -> float:
    """When its logs last grew; 0 while they are empty."""
    return max(map(_written_at, map(record.log_path, launch_record.get("logs", ()))), default=0.0)


def _written_at(path: str) -> float:
    """When something was last written to a log; 0 of one that is gone, or empty."""
    try:
        found = os.stat(path)
    except OSError:
        return 0.0
    return found.st_mtime if found.st_size else 0.0


def telling_lines(text: bytes, own: str | None) -> list[int]:
    """Start of every line of *text* that people should see, by our rules and the user's *own*.

    No line where the rules cannot be read.
    """
    try:
        return telling.telling_lines(text, _live_rules(own, _state_of(own))[0])
    except (OSError, RuleError):
        return []


def _state_of(own: str | None) -> object:
    """What changes when a file of the user's own rules does."""
    if own is None:
        return None
    place = Path(own)
    files = [place] if place.is_file() else sorted(place.glob("*.toml"))
    return tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files)


@lru_cache(maxsize=4)
def _live_rules(own: str | None, _state: object) -> tuple[RuleSet, list[RuleError]]:
    broken: list[RuleError] = []
    rules = load_rules(own=own, broken=broken)
    return rules, broken


def _exit_facts(ending: Ending, facts: dict[str, Any]) -> ExitFacts:
    duration_s = None
    if ending.ended_at is not None and ending.started_at:
        duration_s = ending.ended_at - ending.started_at
    return ExitFacts(
        code=ending.code,
        started=ending.started,
        start_error=ending.start_error,
        limit=ending.limit,
        signal=ending.signal,
        sender=ending.sender,
        duration_s=duration_s,
        survivors=len(facts.get("survivors", ())),
        log_disk_full=bool(facts.get("log_disk_full")),
    )
