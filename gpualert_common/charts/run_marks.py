"""Events of a run as marks on its timeline."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpualert_common.charts.host_panels import Arrivals
from gpualert_common.charts.line_thinning import Window
from gpualert_common.charts.timeline import Mark, MarkKind, Panel
from gpualert_common.model import Disposition, Verdict
from gpualert_common.progress import CheckpointAction, Progress
from gpualert_common.quantities import is_number
from gpualert_common.record import WARNING_RAISED, Event
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.signal_names import signal_name
from gpualert_common.spec import Ending
from gpualert_common.stop_origin import describe_sender
from gpualert_common.structs import Struct
from gpualert_common.telemetry.series import Telemetry

MOST_OF_A_KIND = 60
"""Marks of one kind; of more, evenly spread ones are kept, with the first and the last."""
_MOST_LABEL = 18
_MOST_TEXT = 200
_SAME_STOP_S = 2.0
_TROUBLE = {
    "xid": "Xid",
    "gpu_lost": "GPU lost",
    "reset_required": "GPU reset",
    "not_answering": "GPU silent",
    "ecc_uncorrected": "ECC",
    "cgroup_oom_kill": "OOM kill",
    "oom_kill": "OOM kill",
    "disk_low": "disk low",
    "disk_read_only": "disk read-only",
    "disk_stalled": "disk stalled",
    "collective_stall": "collective stall",
    "rank_ended": "rank ended",
}
"""Events of the telemetry that are marks, with their labels."""


class MarkSources(Struct, frozen=True):
    """The parts of a record that have events.  ``arrivals`` are by the name of the log."""

    events: Sequence[Event]
    telemetry: Telemetry
    progress: Progress
    arrivals: Mapping[str, Arrivals]
    ending: Ending | None
    verdict: Verdict | None


def list_marks(
    sources: MarkSources, panels: Iterable[Panel], window: Window, sanitizer: TextSanitizer
) -> tuple[Mark, ...]:
    """Return the events in order of time; those outside the window are left out."""
    found = [
        *_list_event_marks(sources.events),
        *_list_trouble_marks(sources.telemetry),
        *_list_checkpoint_marks(sources),
        *_list_lost_value_marks(panels),
        *_list_failure_marks(sources),
        *_list_end_marks(sources.ending, window),
    ]
    shown = [
        Mark(
            window.clamp(one.at),
            one.kind,
            sanitizer.line(one.text, _MOST_TEXT),
            sanitizer.line(one.label, _MOST_LABEL),
        )
        for kind in MarkKind
        for one in _spread([one for one in found if one.kind is kind and window.holds(one.at)])
    ]
    return tuple(sorted(shown, key=lambda one: one.at))


def _spread(marks: Sequence[Mark]) -> Iterator[Mark]:
    """Yield at most :data:`MOST_OF_A_KIND` of the marks."""
    ordered = sorted(marks, key=lambda one: one.at)
    last = len(ordered) - 1
    if last < MOST_OF_A_KIND:
        yield from ordered
        return
    for index in range(MOST_OF_A_KIND):
        yield ordered[round(index * last / (MOST_OF_A_KIND - 1))]


def _list_event_marks(events: Iterable[Event]) -> Iterator[Mark]:
    """Yield warnings, signals, stops and dumps of the stacks."""
    signalled: dict[str, float] = {}
    for event in events:
        fields = event.fields
        match event.name:
            case "warning_raised" | "warning_recovered":
                kind = str(fields.get("kind", "")).replace("_", " ")
                is_over = event.name != WARNING_RAISED
                text = f"{'warning withdrawn' if is_over else 'warning'}: {fields.get('says')}"
                yield Mark(event.at, MarkKind.WARNING, text, f"{kind} over" if is_over else kind)
            case "signal":
                name = _name_signal(fields)
                signalled[name] = event.at
                yield Mark(event.at, MarkKind.SIGNAL, f"{name} received{_by(fields)}", name)
            case "stopping":
                name = _name_signal(fields)
                if abs(event.at - signalled.get(name, float("-inf"))) > _SAME_STOP_S:
                    yield Mark(event.at, MarkKind.SIGNAL, f"stopped by {name}{_by(fields)}", "stop")
            case "time_limit":
                yield Mark(event.at, MarkKind.SIGNAL, "the time limit was reached", "time limit")
            case "hang":
                yield Mark(event.at, MarkKind.SIGNAL, "stopped because it hung", "hang")
            case "stacks_taken" if not fields.get("problem"):
                text = f"stacks taken: {fields.get('reason') or 'on request'}"
                yield Mark(event.at, MarkKind.STACKS, text, "stacks")


def _name_signal(fields: Mapping[str, object]) -> str:
    number = fields.get("signal")
    return signal_name(number) if is_number(number) else "signal"


def _by(fields: Mapping[str, object]) -> str:
    sender = fields.get("sender")
    if not isinstance(sender, dict):
        return ""
    try:
        words = describe_sender(sender)  # type: ignore[arg-type]  # of a file that anybody may write
    except (TypeError, ValueError, AttributeError):
        return ""
    return f", from {words}" if words else ""


def _list_trouble_marks(telemetry: Telemetry) -> Iterator[Mark]:
    """Yield faults of GPUs, memory, disks and ranks that the telemetry has."""
    for event in telemetry.find_events(*_TROUBLE):
        if event.what == "rank_ended" and event.fields.get("code") == 0:
            continue
        yield Mark(event.at, MarkKind.WARNING, event.text, _TROUBLE[event.what])


def _list_checkpoint_marks(sources: MarkSources) -> Iterator[Mark]:
    """Yield the checkpoints of the log, or else those that were seen as files."""
    is_any = False
    for one in sources.progress.checkpoints:
        at = _find_arrival(sources.arrivals.get(one.file, ()), one.offset)
        if at is not None:
            is_any = True
            is_loaded = one.action is CheckpointAction.LOADED
            step = "" if one.step is None else f" at step {one.step}"
            text = f"checkpoint {'loaded' if is_loaded else 'saved'}{step}"
            yield Mark(at, MarkKind.CHECKPOINT, text, "resumed" if is_loaded else "checkpoint")
    if not is_any:
        for event in sources.telemetry.find_events("checkpoints_written"):
            yield Mark(event.at, MarkKind.CHECKPOINT, event.text, "checkpoint")


def _list_lost_value_marks(panels: Iterable[Panel]) -> Iterator[Mark]:
    """Yield the first value of each line that is not finite."""
    for panel in panels:
        for line in panel.lines:
            if line.not_finite_at:
                name = f"{line.name} {panel.title.lower()}"
                text = f"first {name} that is NaN or infinite"
                yield Mark(line.not_finite_at[0], MarkKind.NOT_FINITE, text, "NaN")


def _list_failure_marks(sources: MarkSources) -> Iterator[Mark]:
    """Yield the time of the line of a log that the verdict cites first."""
    verdict = sources.verdict
    if verdict is None or verdict.disposition is Disposition.COMPLETED:
        return
    for claim in verdict.shows:
        where = claim.where
        offset = None if where is None else where.offset
        if where is not None and offset is not None:
            at = _find_arrival(sources.arrivals.get(where.file, ()), offset)
            if at is not None:
                yield Mark(at, MarkKind.FAILURE, verdict.headline, "failure")
                return


def _list_end_marks(ending: Ending | None, window: Window) -> Iterator[Mark]:
    if ending is None:
        return
    code = ending.code
    text, label = "the run ended", "end"
    if code is not None and code < 0:
        label = signal_name(-code)
        text = f"the run was killed by {label}"
    elif code is not None:
        label = f"exit {code}"
        text = f"the run ended with exit status {code}"
    yield Mark(window.ended_at, MarkKind.END, text, label)


def _find_arrival(arrivals: Arrivals, offset: int) -> float | None:
    """Return the time at which a byte of a log was written; None if it is not known."""
    index = bisect_right(arrivals, offset, key=lambda one: one[1])
    return arrivals[index][0] if index < len(arrivals) else None
