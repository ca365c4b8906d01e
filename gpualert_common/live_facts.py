"""Facts about a run in progress: its progress, its last output, and advice for its warnings."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from gpualert_common.diagnose.warning_state import WarningState
from gpualert_common.errors import RecordError
from gpualert_common.progress import Point
from gpualert_common.record import Record
from gpualert_common.report.formatting import duration
from gpualert_common.report.run_facts import Fact
from gpualert_common.run_progress import read_progress
from gpualert_common.stacks.reasons import explain_hang
from gpualert_common.stacks.storage import read_dumps

_TAIL_BYTES = 1 << 20
"""End of a log, which has the newest progress."""
_MOST_STEPS = 1e15


def collect_live_facts(record: Record) -> list[Fact]:
    """Return the facts about a run in progress, the most important first."""
    progress = _progress(record)
    facts = [("Do", advice) for advice in WarningState(record.events()).advice()]
    facts += [("Progress", progress)] if progress else []
    facts += [("Stacks", text) for text in _describe_stacks(record)]
    return [*facts, ("Last output", _last_output(record))]


def _describe_stacks(record: Record) -> Iterator[str]:
    """Yield where the run stands, by its last dump, if it has printed nothing since."""
    try:
        dumps = read_dumps(record)
    except RecordError:
        return
    printed_at = max(_list_log_times(record), default=0.0)
    taken = [dump for dump in dumps if dump.at > printed_at]
    found = explain_hang(taken[-1], taken[0] if taken[1:] else None) if taken else None
    if found is not None:
        clock = time.strftime("%H:%M:%S", time.localtime(taken[-1].at))
        yield f"{found.text} (at {clock}; more: gpualert stacks)"


def _last_output(record: Record) -> str:
    """Return the time of the newest output in one of its logs."""
    found = list(_list_log_times(record))
    if not found:
        return "no output yet"
    at = max(found)
    clock = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    return f"{duration(max(0.0, time.time() - at))} ago ({clock})"


def _list_log_times(record: Record) -> Iterator[float]:
    for name in record.logs:
        found = record.log_status(name)
        if found is not None and found.st_size:
            yield found.st_mtime


def _progress(record: Record) -> str:
    """Return the progress by the begin and the end of its logs; "" if they do not show it."""
    read = read_progress(record, most_bytes=_TAIL_BYTES)
    positions = [point for point in read.points if point.position is not None]
    if not positions:
        return ""
    last = positions[-1]
    position = last.step if last.step is not None else last.epoch
    unit = read.unit if last.step is not None else "epoch"
    total = read.counts.total_steps if last.step is not None else read.counts.total_epochs
    shown = [f"{unit} {position:g}" if isinstance(position, float) else f"{unit} {position}"]
    if total:
        shown[0] += f" of {total:g}" if isinstance(total, float) else f" of {total}"
    losses = [point.loss for point in read.points if point.loss is not None]
    shown += [f"loss {losses[-1]:.4g}"] if losses else []
    pace_s = _pace_s(positions)
    if pace_s:
        pace = f"{pace_s:.2g} s" if pace_s < 10 else duration(pace_s)
        shown.append(f"{pace} per {unit}")
        if total and position is not None and _MOST_STEPS > total > position:
            shown.append(f"about {duration((total - position) * pace_s)} left")
    return ", ".join(shown)


def _pace_s(points: Sequence[Point]) -> float | None:
    """Return the seconds per step (or epoch), from the second half of the timed points."""
    segment = points[-1].segment
    known = [(one.at, one.position or 0.0) for one in points if one.at and one.segment == segment]
    if len(known) < 2:
        return None
    (began_at, first), (at, last) = known[(len(known) - 1) // 2], known[-1]
    return (at - began_at) / (last - first) if at > began_at and last > first else None
