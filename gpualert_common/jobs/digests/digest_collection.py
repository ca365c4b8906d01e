"""Collection of a digest from the record of a run: of one that is live, that ended, or was lost."""

from __future__ import annotations

import math
import shlex
import time
from contextlib import suppress

from gpualert_common.classify.details import Scalar
from gpualert_common.diagnose.warning_state import WarningState
from gpualert_common.errors import RecordError
from gpualert_common.jobs.digests.bounding import fit_digest
from gpualert_common.jobs.digests.digest import (
    MOST_RANKS,
    ClockOffset,
    Digest,
    DigestObservation,
    DigestState,
    DigestVerdict,
    ProgressDigest,
    StackGroupDigest,
)
from gpualert_common.jobs.digests.observation_digests import collect_observations
from gpualert_common.jobs.digests.rank_digests import collect_ranks
from gpualert_common.jobs.digests.stack_digests import collect_stacks
from gpualert_common.jobs.digests.telemetry_digests import collect_telemetry
from gpualert_common.launch_record import JobMembership
from gpualert_common.live_facts import find_last_output, read_live_progress
from gpualert_common.model import Verdict
from gpualert_common.quantities import is_number, is_seconds
from gpualert_common.record import EVENTS, EXIT, Record
from gpualert_common.redact import Redactor
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.spec import Ending
from gpualert_common.stacks.storage import STACKS, read_dumps
from gpualert_common.structs import Struct, replace
from gpualert_common.telemetry.series import Telemetry

TAIL_BYTES = 64 << 10
"""End of a log that a renewal reads: the newest progress, for 3 ms of a core."""
_HEADLINE, _TEXT, _LINE = 300, 300, 200
_MOST_OF_A_LIST = 8
_MOST_DETAILS = 40


class Renewal(Struct, frozen=True):
    """The place of a digest in its series: number, time to the next one, offset of the clock."""

    sequence: int = 0
    interval_s: float = 0.0
    clock: ClockOffset = ClockOffset()


class DigestCollector:
    """Collects the digests of one run, one after the other: each reads only what is new.

    Secrets are masked in all texts; *known_secrets* are those without a recognizable form.
    """

    def __init__(self, record: Record, known_secrets: tuple[str, ...] = ()) -> None:
        self._record = record
        self._launch_record = record.spec
        self._text = TextSanitizer(Redactor(known_secrets))
        self._telemetry = Telemetry()
        self._progress: tuple[tuple[int, ...], ProgressDigest | None] = ((), None)
        self._warnings: tuple[int, tuple[str, ...]] = (0, ())
        self._stacks: tuple[int, float, tuple[StackGroupDigest, ...]] = (0, 0.0, ())

    def collect(self, renewal: Renewal, now: float | None = None) -> Digest:
        """Return the digest of the run as it is now, in 16 KB at most.

        Raises RecordError where the record has no launch record any more.
        """
        now = time.time() if now is None else now
        record, launched = self._record, self._launch_record
        job = launched.job or JobMembership()
        with suppress(OSError):
            self._telemetry.read(record)
        ending, verdict = self._read_end()
        node = _find_count(job.get("node"))
        ended_at = None if ending is None else ending.ended_at
        progress = self._collect_progress()
        moved_at = (None if progress is None else progress.position_at) or 0.0
        ranks = collect_ranks(self._telemetry, node, ended_at or now, moved_at)
        has_ended = verdict is not None or (record.has(EXIT) and not record.is_verdict_pending)
        digest = Digest(
            job=job.get("key") or record.run_id,
            run_id=record.run_id,
            name=self._text.line(job.get("name"), _LINE) or None,
            host=self._text.line(launched.host, _LINE) or "unknown",
            at=now,
            state=DigestState.ENDED if has_ended else DigestState.RUNNING,
            attempt=_find_count(job.get("attempt")),
            node=node,
            nodes=_find_count(job.get("nodes")),
            world_size=ranks.world_size,
            sequence=renewal.sequence,
            interval_s=renewal.interval_s if is_seconds(renewal.interval_s) else 0.0,
            launch=self._text.line(shlex.join(launched.command), _LINE),
            record_path=record.path,
            started_at=launched.created_at,
            ended_at=ended_at,
            verdict=None if verdict is None else self._shorten_verdict(verdict),
            observations=self._mask_observations(
                collect_observations(record, verdict, self._telemetry, node)
            ),
            warnings=self._list_warnings(),
            ranks=tuple(
                replace(one, pending=self._text.line(one.pending, _LINE)) for one in ranks.ranks
            ),
            progress=progress,
            telemetry=collect_telemetry(self._telemetry, ended_at or now),
            stacks=self._collect_stacks(node),
            clock=renewal.clock,
        )
        return fit_digest(digest)

    def find_change(self) -> tuple[object, ...]:
        """Return a value that differs once something of importance has changed.

        A warning, the end of a rank with an error, the begin of the training, the end of the run.
        """
        with suppress(OSError):
            self._telemetry.read(self._record)
        failed = sum(
            event.fields.get("code") not in (0, None)
            for event in self._telemetry.events
            if event.what == "rank_ended"
        )
        progress = self._progress[1]
        has_begun = progress is not None and progress.position is not None
        return self._list_warnings(), failed, has_begun

    def _read_end(self) -> tuple[Ending | None, Verdict | None]:
        """Return end and verdict; a damaged one counts as missing."""
        ending, verdict = None, None
        with suppress(RecordError):
            ending = self._record.ending
        with suppress(RecordError):
            verdict = self._record.verdict
        return ending, verdict

    def _list_warnings(self) -> tuple[str, ...]:
        """Return the kinds of the active warnings; the events are read again if there are more."""
        status = self._record.log_status(EVENTS)
        size = 0 if status is None else status.st_size
        if size != self._warnings[0]:
            try:
                active = WarningState(self._record.events()).list_active()
            except (OSError, RecordError):
                active = []
            kinds = tuple(self._text.line(kind, _LINE) for kind, _since, _summary in active)
            self._warnings = size, kinds
        return self._warnings[1]

    # -- texts -----------------------------------------------------------------------------

    def _shorten_verdict(self, verdict: Verdict) -> DigestVerdict:
        line = self._text.line
        details: dict[str, Scalar] = {}
        for name, value in list(verdict.details.items())[:_MOST_DETAILS]:
            if isinstance(value, str):
                details[line(name, _LINE)] = line(value, _TEXT)
            elif value is None or isinstance(value, bool | float) or is_number(value):
                details[line(name, _LINE)] = value
        secondary = dict.fromkeys(one.cause for one in verdict.secondary)
        return DigestVerdict(
            cause=line(verdict.cause, _LINE),
            disposition=verdict.disposition,
            attribution=verdict.attribution,
            retry=verdict.retry,
            confidence=min(1.0, max(0.0, verdict.confidence)),
            headline=line(verdict.headline, _HEADLINE),
            family=verdict.family,
            fault_class=verdict.fault_class,
            paper_class=verdict.paper_class,
            exit_code=verdict.exit_code if is_number(verdict.exit_code) else None,
            signal=verdict.signal,
            secondary=tuple(line(one, _LINE) for one in secondary)[:_MOST_OF_A_LIST],
            details=details,
            implies=line(verdict.implies, 2 * _TEXT),
            cannot_decide=tuple(line(one, _TEXT) for one in verdict.cannot_decide[:4]),
            do=tuple(line(one, _TEXT) for one in verdict.do[:4]),
        )

    def _mask_observations(
        self, observations: tuple[DigestObservation, ...]
    ) -> tuple[DigestObservation, ...]:
        return tuple(
            replace(
                one,
                cause=self._text.line(one.cause, _LINE),
                text=self._text.line(one.text, _TEXT),
                source=self._text.line(one.source, _LINE),
            )
            for one in observations
        )

    # -- parts -----------------------------------------------------------------------------

    def _collect_progress(self) -> ProgressDigest | None:
        """Return the progress; the logs are read again only when they have grown."""
        statuses = [self._record.log_status(name) for name in self._launch_record.logs]
        sizes = tuple(0 if one is None else one.st_size for one in statuses)
        if sizes != self._progress[0]:
            self._progress = sizes, self._read_progress()
        return self._progress[1]

    def _read_progress(self) -> ProgressDigest | None:
        live = read_live_progress(self._record, most_bytes=TAIL_BYTES)
        output_at = find_last_output(self._record)
        if live.position is None and live.loss is None and output_at is None:
            return None
        return ProgressDigest(
            unit=self._text.line(live.unit, _LINE),
            position=_find_finite(live.position),
            total=_find_finite(live.total),
            loss=live.loss,
            pace_s=_find_finite(live.pace_s),
            position_at=live.position_at,
            output_at=output_at,
        )

    def _collect_stacks(self, node: int | None) -> tuple[StackGroupDigest, ...]:
        """Return the groups of the newest dump, if the run has printed nothing since."""
        status = self._record.log_status(STACKS)
        size = 0 if status is None else status.st_size
        if size != self._stacks[0]:
            self._stacks = (size, *self._read_stacks(node))
        printed_at = find_last_output(self._record) or 0.0
        return self._stacks[2] if self._stacks[1] >= math.floor(printed_at) else ()

    def _read_stacks(self, node: int | None) -> tuple[float, tuple[StackGroupDigest, ...]]:
        try:
            dumps = read_dumps(self._record)
        except RecordError:
            return 0.0, ()
        if not dumps:
            return 0.0, ()
        line = self._text.line
        groups = (
            replace(one, place=line(one.place, _LINE), waits_for=line(one.waits_for, _LINE))
            for one in collect_stacks(dumps[-1], node)
        )
        return dumps[-1].at, tuple(groups)


def make_digest(record: Record, renewal: Renewal = Renewal()) -> Digest:  # noqa: B008 - frozen
    """Return the digest of a run as its record shows it now.  Raises RecordError."""
    return DigestCollector(record).collect(renewal)


def _find_count(value: object) -> int | None:
    return value if is_number(value) and 0 <= value < MOST_RANKS else None


def _find_finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
