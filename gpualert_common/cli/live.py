"""How a run that goes on is doing: its progress, when it last printed, and what wants doing."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence

from gpualert_common.cli.records import content_of
from gpualert_common.diagnose.warning_state import WarningState
from gpualert_common.progress import (
    Point,
    Progress,
    ProgressReader,
    add_times,
    merge_progress,
    read_index,
)
from gpualert_common.record import INDEX, Record
from gpualert_common.report.formatting import duration
from gpualert_common.report.run_facts import Fact

_HEAD_BYTES = 64 << 10
"""Where a training says how many steps it will do."""
_TAIL_BYTES = 1 << 20
"""What tells how it goes, however long the log is."""
_MOST_STEPS = 1e15


def facts_of(record: Record) -> list[Fact]:
    """What there is to tell, in the order of how telling it is."""
    progress = _progress(record)
    facts = [("Do", advice) for advice in WarningState(record.events()).advice()]
    facts += [("Progress", progress)] if progress else []
    return [*facts, ("Last output", _last_output(record))]


def _last_output(record: Record) -> str:
    """When something was last written to one of its logs."""
    found = list(_written(record))
    if not found:
        return "nothing was printed so far"
    at = max(found)
    clock = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    return f"{duration(max(0.0, time.time() - at))} ago ({clock})"


def _written(record: Record) -> Iterator[float]:
    for name in record.logs:
        try:
            found = os.stat(record.log_path(name))
        except OSError:
            continue
        if found.st_size:
            yield found.st_mtime


def _progress(record: Record) -> str:
    """How far the training is by the begin and the end of its logs; empty where they do not say."""
    parts = [_part(record, column, name) for column, name in enumerate(record.logs)]
    read = merge_progress([part for part in parts if part is not None] or [Progress(files=())])
    told = [point for point in read.points if point.position is not None]
    if not told:
        return ""
    last = told[-1]
    position = last.step if last.step is not None else last.epoch
    unit = read.unit if last.step is not None else "epoch"
    total = read.counts.total_steps if last.step is not None else read.counts.total_epochs
    said = [f"{unit} {position:g}" if isinstance(position, float) else f"{unit} {position}"]
    if total:
        said[0] += f" of {total:g}" if isinstance(total, float) else f" of {total}"
    losses = [point.loss for point in read.points if point.loss is not None]
    said += [f"loss {losses[-1]:.4g}"] if losses else []
    pace_s = _pace_s(told)
    if pace_s:
        said.append(f"{pace_s:.2g} s a {unit}" if pace_s < 10 else f"{duration(pace_s)} a {unit}")
        if total and position is not None and _MOST_STEPS > total > position:
            said.append(f"about {duration((total - position) * pace_s)} left")
    return ", ".join(said)


def _part(record: Record, column: int, name: str) -> Progress | None:
    reader = ProgressReader(name)
    try:
        fd = record.open_log(name)
    except OSError:
        return None
    try:
        size = os.fstat(fd).st_size
        reader.feed(os.pread(fd, min(size, _HEAD_BYTES), 0), 0)
        begin = max(0, size - _TAIL_BYTES)
        reader.feed(os.pread(fd, size - begin, begin), begin)
    except OSError:
        return None
    finally:
        os.close(fd)
    index, began = content_of(record, INDEX), record.spec.created_at
    return add_times(reader.finish(), read_index(index, began, column))


def _pace_s(points: Sequence[Point]) -> float | None:
    """Seconds between two steps (or epochs), by the second half of the points that have a time."""
    segment = points[-1].segment
    known = [(one.at, one.position or 0.0) for one in points if one.at and one.segment == segment]
    if len(known) < 2:
        return None
    (began_at, first), (at, last) = known[(len(known) - 1) // 2], known[-1]
    return (at - began_at) / (last - first) if at > began_at and last > first else None
