"""The page of one run, prepared for display: state, progress, warnings, log, verdict, stacks."""

from __future__ import annotations

import time

from gpualert_common.artifacts.log_tails import read_last_lines
from gpualert_common.current_condition import find_unsupervised
from gpualert_common.diagnose.warning_state import WarningState
from gpualert_common.errors import DamagedFileError, RecordError
from gpualert_common.listing.condition import Condition
from gpualert_common.listing.run_summary import RunSummary, summarize
from gpualert_common.live_facts import find_last_output, read_live_progress
from gpualert_common.model import Verdict
from gpualert_common.record import OUTCOME, Record
from gpualert_common.redact import Redactor
from gpualert_common.report.formatting import duration, size
from gpualert_common.report.run_facts import Fact, list_facts
from gpualert_common.report.run_view import RunView, view_run
from gpualert_common.report.stack_text import render_stacks
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.run_progress import read_progress
from gpualert_common.stacks.dump import Dump
from gpualert_common.stacks.storage import read_dumps
from gpualert_common.structs import Struct
from gpualert_common.web.capture_cards import CaptureCard, list_capture_cards
from gpualert_common.web.machine_view import MachineView, TelemetryCache
from gpualert_common.web.run_rows import RunRow, make_row
from gpualert_common.web.sparks import draw_spark
from gpualert_common.web.step_text import format_count, format_pace

TAIL_LINES = 200
_MOST_EVIDENCE = 5
_MOST_STACK_LINES = 400
_PROGRESS_BYTES = 256 << 10
"""End of each log that is read for each refresh."""


class ProgressView(Struct, frozen=True):
    """Progress of a live run; "" where a number is unknown.  ``percent`` is from 0 to 100."""

    unit: str
    position: str
    total: str
    percent: float | None
    loss: str
    pace: str
    left: str
    loss_points: str


class LogLink(Struct, frozen=True):
    """A log of a run, with its size for people."""

    name: str
    size: str


class DetailedRun(Struct, frozen=True, kw_only=True):
    """Everything that the page of a run shows; all texts are masked and safe to show.

    ``progress`` and ``machine`` are those of a live run; ``has_verdict`` is True for a run whose
    ``view`` has its verdict.
    """

    row: RunRow
    view: RunView
    facts: tuple[Fact, ...]
    has_verdict: bool
    is_live: bool
    is_changing: bool
    progress: ProgressView | None
    machine: MachineView
    warnings: tuple[str, ...]
    last_output: str
    tail: tuple[str, ...]
    logs: tuple[LogLink, ...]
    stacks: tuple[str, ...]
    captures: tuple[CaptureCard, ...]
    remark: str


def collect_details(
    record: Record, telemetry: TelemetryCache, latest_dump: Dump | None = None
) -> DetailedRun:
    """Return the details of a run as it is now.

    ``latest_dump`` are stacks that the record may not have.  Raises RecordError if the launch
    record cannot be read.
    """
    masks = Redactor()
    text = TextSanitizer(masks)
    verdict, remark = _read_verdict(record)
    summary = find_unsupervised(_summarize(record, has_verdict=not remark))
    row = make_row(summary, text)
    view = view_run(record, verdict, masks=masks, outcome=_read_outcome(record))
    is_live = row.is_live
    remark = remark or _explain_state(record, summary.condition)
    return DetailedRun(
        row=row,
        view=view,
        facts=tuple(_choose_facts(view, is_live=is_live)),
        has_verdict=verdict is not None,
        is_live=is_live,
        is_changing=is_live or record.is_verdict_pending,
        progress=_view_progress(record) if is_live else None,
        machine=telemetry.view_machine(record) if is_live else MachineView(),
        warnings=tuple(map(text.prose, WarningState(record.events()).advice())) if is_live else (),
        last_output=_describe_last_output(record) if is_live else "",
        tail=read_last_lines(record, masks, TAIL_LINES),
        logs=tuple(_list_logs(record)),
        stacks=_render_stacks(record, latest_dump, text),
        captures=tuple(list_capture_cards(record, text)),
        remark=text.line(remark),
    )


def _explain_state(record: Record, condition: Condition) -> str:
    """Return the words about a run without a supervisor or a verdict; "" for any other."""
    if condition is Condition.UNSUPERVISED:
        return "Its supervisor died, and the run continues without it."
    if condition is Condition.LOST:
        next_step = f"gpualert recover {record.run_id} completes its record where that is possible."
        return f"Its supervisor is not visible from here, and its end is not known. {next_step}"
    return "The verdict is still being made." if record.is_verdict_pending else ""


def _read_verdict(record: Record) -> tuple[Verdict | None, str]:
    try:
        return record.verdict, ""
    except DamagedFileError as error:
        return None, f"The verdict is damaged: {error}"


def _summarize(record: Record, *, has_verdict: bool) -> RunSummary:
    if has_verdict:
        return summarize(record)
    spec, ending = record.spec, record.ending
    return RunSummary(
        run_id=record.run_id,
        path=record.path,
        condition=Condition.UNKNOWN,
        names=(spec.name,) if spec.name else (),
        command=spec.command,
        started_at=ending.started_at if ending else spec.created_at,
        ended_at=ending.ended_at if ending else None,
        host=spec.host,
    )


def _read_outcome(record: Record) -> dict[str, object] | None:
    try:
        return record.read_json(OUTCOME)
    except RecordError:
        return None


def _choose_facts(view: RunView, *, is_live: bool) -> list[Fact]:
    """Return the facts that stand nowhere else on the page."""
    left_out = {"Log", "Started", "GPU-hours"} | ({"Ended"} if is_live else set())
    return [fact for fact in list_facts(view, (), zone="local") if fact[0] not in left_out]


def _view_progress(record: Record) -> ProgressView | None:
    live = read_live_progress(record, most_bytes=_PROGRESS_BYTES)
    if live.position is None and live.loss is None:
        return None
    points = read_progress(record, most_bytes=_PROGRESS_BYTES).points
    return ProgressView(
        unit=live.unit,
        position="" if live.position is None else format_count(live.position),
        total="" if not live.total else format_count(live.total),
        percent=None if live.share is None else round(100 * live.share, 1),
        loss="" if live.loss is None else f"{live.loss:.4g}",
        pace=format_pace(live.pace_s),
        left="" if live.left_s is None else duration(live.left_s),
        loss_points=draw_spark([one.loss for one in points if one.loss is not None]),
    )


def _describe_last_output(record: Record) -> str:
    at = find_last_output(record)
    return "no output yet" if at is None else f"{duration(max(0.0, time.time() - at))} ago"


def _list_logs(record: Record) -> list[LogLink]:
    found = [(name, record.log_status(name)) for name in record.logs]
    return [LogLink(name, size(status.st_size)) for name, status in found if status is not None]


def _render_stacks(record: Record, latest: Dump | None, text: TextSanitizer) -> tuple[str, ...]:
    """Return the lines of the newest stacks."""
    try:
        dumps = read_dumps(record)
    except RecordError:
        dumps = []
    newest = max((*dumps, *([latest] if latest else [])), key=lambda one: one.at, default=None)
    if newest is None:
        return ()
    lines = render_stacks(newest, text, cwd=record.spec.cwd)
    more = len(lines) - _MOST_STACK_LINES
    return tuple(lines[:_MOST_STACK_LINES]) + ((f"and {more} more lines",) if more > 0 else ())
