"""From logs and an ending to a verdict: the same way for a live run, a lost one, and an old log."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

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
from gpualert_common.errors import RuleError
from gpualert_common.model import ExitFacts
from gpualert_common.spec import Ending


class Judge:
    """Reads the logs of one run piece by piece and concludes once, at the end.

    The user's own rules are those that the launch record names.  A rule file that is broken is
    left out and named among the verdict's warnings.
    """

    def __init__(self, launch_record: dict[str, Any] | None = None) -> None:
        self._launch_record = launch_record or {}
        own = self._launch_record.get("rules")
        self._rules, self._broken = _live_rules(own, _state_of(own))
        self._scanners: dict[str, Scanner] = {}
        self._next: dict[str, int] = {}
        self._readings: list[Reading] = []

    def prepare(self) -> None:
        """Make the rules ready for matching, some 0.15 s of CPU, before there is a log to read."""
        prepare(self._rules)

    def feed(self, log: str, data: bytes, offset: int) -> None:
        """Read ``data``, which stands at ``offset`` of that log.

        An offset before what was read means that the log was truncated and begins anew.
        """
        if offset < self._next.get(log, 0):
            self._readings.append(self._scanners.pop(log).finish())
        if log not in self._scanners:
            self._scanners[log] = Scanner(self._rules, log)
        self._scanners[log].feed(data, offset)
        self._next[log] = offset + len(data)

    def feed_file(self, path: str, name: str) -> None:
        """Read a whole file, cited as ``name``.  Raises OSError."""
        with open(path, "rb", buffering=0) as file:
            self.feed_stream(file, name)

    def feed_stream(self, stream: BinaryIO, name: str) -> None:
        """Read a stream to its end, cited as ``name``.  Raises OSError."""
        offset = 0
        self.feed(name, b"", 0)
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
        )
        fields = to_json(verdict)
        fields["warnings"] += [
            {"kind": "broken_rule", "text": f"left out: {error}"} for error in self._broken
        ]
        return fields


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
