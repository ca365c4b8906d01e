"""Classifier of a run: from logs and evidence to a verdict."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from gpualert_common.classify import (
    CHUNK_BYTES,
    LogReading,
    RuleSet,
    Scanner,
    compile_ahead,
    load_rules,
    notable_lines,
)
from gpualert_common.classify.explanation import Explanation
from gpualert_common.diagnose import conclude
from gpualert_common.diagnose.evidence import RunObservations
from gpualert_common.diagnose.missing_evidence import explain_missing_status, mark_output_unread
from gpualert_common.diagnose.warning_monitor import WarningMonitor
from gpualert_common.diagnose.warning_state import WarningState
from gpualert_common.end_record import SchedulerStop
from gpualert_common.errors import RuleError
from gpualert_common.launch_record import LaunchRecord, read_shown_number
from gpualert_common.log_files.compression import find_format
from gpualert_common.log_files.content import HEAD_BYTES, describe_binary, find_encoding
from gpualert_common.log_files.text_log import TextLog
from gpualert_common.model import ExitFacts, Verdict, VerdictWarning
from gpualert_common.progress import TrainingLogs
from gpualert_common.record import Event, Record
from gpualert_common.run_evidence import RunEvidence
from gpualert_common.spec import EndFacts, Ending
from gpualert_common.structs import replace
from gpualert_common.telemetry.series import Telemetry


class RunClassifier:
    """Classifier of one run: reads its logs piece by piece, and concludes once, at the end.

    All other evidence is in the ``record`` of the run; a log without a run has none.  The launch
    record names the user's own rules.  An invalid rule file is skipped, with a warning in the
    verdict.  ``is_live`` says that it follows the run to its end on this machine.
    """

    def __init__(
        self,
        launch_record: LaunchRecord | None = None,
        record: Record | None = None,
        *,
        is_live: bool = False,
    ) -> None:
        self._launch_record = launch_record or LaunchRecord()
        self._evidence = (
            None if record is None else RunEvidence(self._launch_record, record, is_live=is_live)
        )
        own = self._launch_record.rules
        self._rules, broken = _live_rules(own, _state_of(own))
        self._faults = [VerdictWarning("broken_rule", f"left out: {error}") for error in broken]
        self._scanners: dict[str, Scanner] = {}
        self._next: dict[str, int] = {}
        self._training = TrainingLogs()
        self._readings: list[LogReading] = []
        self._of_logs: dict[tuple[str, str], list[str]] = {}
        self._monitor: WarningMonitor | None = None
        self._is_blind = False
        self.explanation: Explanation | None = None
        """The explanation of the verdict's cause; None before there is a verdict."""

    def prepare(self) -> None:
        """Compile the rules before there is a log to read, and look up the earlier runs.

        Costs some 0.15 s of CPU.
        """
        compile_ahead(self._rules)
        self._training.prepare()
        if self._evidence is not None:
            self._evidence.recall()

    def update(self) -> list[Event]:
        """Read new evidence of a run in progress other than its logs.

        Returns the events to store in the record: warnings that are raised or withdrawn.
        """
        if self._evidence is None or self._is_blind:
            return []
        self._evidence.read()
        try:
            if self._monitor is None:
                self._monitor = _monitor(self._evidence.record, self._launch_record, self._rules)
            telemetry, printed_at = self._evidence.telemetry, self._evidence.printed_at
            stacks = self._evidence.read_stacks()
            earlier = self._evidence.recall().runs
            return self._monitor.check(
                telemetry, stacks, printed_at, self._training.snapshot, earlier
            )
        except Exception as error:  # noqa: BLE001 - the boundary: without warnings a verdict is due
            self._is_blind = True
            return [
                Event("warning_failed", time.time(), problem=f"{type(error).__name__}: {error}")
            ]

    def feed(self, log: str, data: bytes, offset: int) -> None:
        """Read ``data``, which is at ``offset`` of that log.

        An offset before the end of the data read so far means that the log was truncated.
        """
        if offset < self._next.get(log, 0):
            self._readings.append(self._scanners.pop(log).finish())
            self._training.reset(log)
        if log not in self._scanners:
            self._scanners[log] = Scanner(self._rules, log)
        if offset == 0 and data:
            self._check_content(log, data)
        self._scanners[log].feed(data, offset)
        self._training.feed(log, data, offset)
        if self._monitor is not None:
            self._monitor.note_output(data)
        self._next[log] = offset + len(data)

    def feed_file(self, file: BinaryIO, name: str, most_bytes: int | None = None) -> None:
        """Read a file, cited as ``name``; of one larger than ``most_bytes`` its begin and end.

        Raises OSError.
        """
        size = os.fstat(file.fileno()).st_size
        if most_bytes is not None and size > most_bytes:
            for offset in range(0, most_bytes // 2, CHUNK_BYTES):
                self.feed(name, file.read(CHUNK_BYTES), offset)
            self.feed_stream(file, name, file.seek(size - most_bytes // 2))
        else:
            self.feed_stream(file, name)

    def feed_stream(self, stream: BinaryIO, name: str, offset: int = 0) -> None:
        """Read a stream from ``offset`` to its end, cited as ``name``.

        Raises OSError.
        """
        self.feed(name, b"", offset)
        while data := stream.read(CHUNK_BYTES):
            self.feed(name, data, offset)
            offset += len(data)

    def feed_texts(self, streams: Iterable[tuple[str, BinaryIO]], name: str) -> None:
        """Read streams, each with its own name, one after the other as one log cited as ``name``.

        They are decompressed and decoded; warnings of the verdict say so, and what was not read.
        Raises OSError.
        """
        offset, is_readable = 0, True
        for part, stream in streams:
            text = TextLog(stream)
            for data in text:
                self.feed(name, data, offset)
                offset += len(data)
            for kind, what in text.problems:
                self.warn(kind, part, what)
                is_readable = False
        if not offset and is_readable:
            self.feed(name, b"", 0)  # it was read, and is empty

    def warn(self, kind: str, log: str, what: str) -> None:
        """Add a warning about a log to the verdict; one for all logs of which it says the same."""
        self._of_logs.setdefault((kind, what), []).append(log)

    def _check_content(self, log: str, data: bytes) -> None:
        """Add a warning where a log is no text: its bytes are read as they are."""
        head = data[:HEAD_BYTES]
        encoding = find_encoding(head)
        found = encoding[0] if encoding is not None else describe_binary(head)
        found = found or find_format(head)
        if found not in (None, "utf-8"):
            what = f"is no plain text but {found}: what it shows may be missing here"
            self.warn("not_text", log, what)

    def _log_warnings(self) -> Iterator[VerdictWarning]:
        for (kind, what), logs in self._of_logs.items():
            others = f" (and {len(logs) - 1} more)" if len(logs) > 1 else ""
            yield VerdictWarning(kind, f"{logs[0]}{others} {what}")

    def conclude(self, ending: Ending | None, facts: EndFacts) -> Verdict:
        """Return the verdict; without an ending, that of a run in progress."""
        self._readings += [scanner.finish() for scanner in self._scanners.values()]
        self._scanners.clear()
        conclusion = conclude(
            run_id=self._launch_record.run_id,
            attempt=read_shown_number(self._launch_record.owner),
            host=self._launch_record.host,
            log_path=facts.log_path,
            readings=self._readings,
            facts=replace(
                _exit_facts(Ending(0.0) if ending is None else ending, facts, self._evidence),
                is_log_dropped=self._launch_record.log_full == "drop"
                or not self._launch_record.supervised,
                scheduler=None if ending is None else self._find_scheduler_stop(ending),
                no_status=None if ending is None else self._explain_missing_status(ending),
            ),
            rules=self._rules,
            running=ending is None,
            observations=self._observations(ending),
        )
        self.explanation, verdict = conclusion.explanation, conclusion.verdict
        early = self._early_warnings(verdict)
        unread = self._launch_record.unread_output
        if unread is not None and ending is not None:
            verdict = mark_output_unread(verdict, "output", unread, has_exception=False)
        return replace(
            verdict,
            log_path=self._choose_log(verdict, facts.log_path),
            warnings=(*verdict.warnings, *self._log_warnings(), *self._faults, *early),
        )

    def _explain_missing_status(self, ending: Ending) -> str | None:
        """Return why the status of a process that gpualert did not start is not known."""
        if ending.code is not None or self._launch_record.supervised or self._evidence is None:
            return None
        return explain_missing_status(self._evidence.record)

    def _find_scheduler_stop(self, ending: Ending) -> SchedulerStop | None:
        return None if self._evidence is None else self._evidence.find_scheduler_stop(ending)

    def _choose_log(self, verdict: Verdict, given: str | None) -> str | None:
        """Return the path of the log that has the error, which is in the folder of the *given* one.

        It is the first that the verdict cites, else the last with output.
        """
        logs = self._launch_record.logs
        if given is None or len(logs) < 2:
            return given
        filled = (name for name in reversed(logs) if self._next.get(name))
        name = verdict.find_cited_log(logs) or next(filled, None)
        return given if name is None else os.path.join(os.path.dirname(given), name)

    def _early_warnings(self, verdict: Verdict) -> list[VerdictWarning]:
        """Return the early warnings, from the monitor or else from the events of the record."""
        if self._evidence is None:
            return []
        try:
            if self._monitor is not None:
                return self._monitor.state.verdict_warnings(verdict)
            return WarningState(self._evidence.record.events()).verdict_warnings(verdict)
        except Exception as error:  # noqa: BLE001 - the boundary: the record may be damaged
            text = f"the early warnings are not known: {type(error).__name__}: {error}"
            return [VerdictWarning("warnings_lost", text)]

    def _observations(self, ending: Ending | None) -> RunObservations:
        """Return the evidence other than log messages; an error in it never costs the verdict."""
        progress = self._training.finish()
        if self._training.problem:
            self._faults.append(VerdictWarning("progress_unread", self._training.problem))
        if self._evidence is None:
            return RunObservations(Telemetry(), progress=progress)
        try:
            return self._evidence.collect(ending, progress)
        except Exception as error:  # noqa: BLE001 - the boundary: the record may be damaged
            problem = f"{type(error).__name__}: {error}"
            self._faults.append(VerdictWarning("not_observed", problem))
            return RunObservations(self._evidence.telemetry, progress=progress)


def _monitor(record: Record, launch_record: LaunchRecord, rules: RuleSet) -> WarningMonitor:
    """Return a monitor that continues from the events of an earlier recorder."""
    pid = record.leader_pid
    return WarningMonitor(launch_record, record.events(), pid, rules)


def find_notable_lines(text: bytes, own: str | None) -> list[int]:
    """Return the start of each notable line of *text*, by our rules and the user's *own*.

    Returns no line where the rules cannot be read.
    """
    try:
        return notable_lines.find_notable_lines(text, _live_rules(own, _state_of(own))[0])
    except (OSError, RuleError):
        return []


def _state_of(own: str | None) -> object:
    """Return a value that changes with each file of the user's own rules."""
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


def _exit_facts(ending: Ending, facts: EndFacts, evidence: RunEvidence | None) -> ExitFacts:
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
        survivors=facts.survivors,
        log_disk_full=facts.log_disk_full,
        is_log_cut=facts.is_log_cut,
        log_bytes_at_stop={} if evidence is None else evidence.read_log_bytes_at_stop(ending),
    )
