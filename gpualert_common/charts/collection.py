"""The timeline of a run, from its record."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from gpualert_common.charts.gpu_panels import MOST_NAME, list_gpu_panels
from gpualert_common.charts.host_panels import Arrivals, list_host_panels, list_output_panels
from gpualert_common.charts.line_thinning import Window
from gpualert_common.charts.run_marks import MarkSources, list_marks
from gpualert_common.charts.timeline import Mark, Panel, Timeline
from gpualert_common.charts.training_panels import list_training_panels
from gpualert_common.progress import Progress
from gpualert_common.record import Record
from gpualert_common.report.formatting import size
from gpualert_common.report.text_sanitizer import Masks, TextSanitizer
from gpualert_common.run_progress import read_arrivals, read_progress
from gpualert_common.spec import Ending
from gpualert_common.telemetry.series import Telemetry

MOST_LOG_BYTES = 64 << 20
"""Of a larger log only the begin and so many bytes of its end are searched for progress."""
_LEAST_LENGTH_S = 1e-3

T = TypeVar("T")


def collect_timeline(
    record: Record, *, masks: Masks, telemetry: Telemetry | None = None
) -> Timeline:
    """Return the timeline of a run, which may be in progress.

    ``telemetry`` is that of the record, where it is read already.  It never raises for the content
    of the record: a part that cannot be read is left out.
    """
    sanitizer = TextSanitizer(masks)
    telemetry = telemetry or _attempt(lambda: _read_telemetry(record), Telemetry())
    logs = _attempt(lambda: record.logs, list[str]())
    ending = _attempt(lambda: record.ending, None)
    arrivals = _attempt(lambda: _read_all_arrivals(record, logs, ending), dict[str, Arrivals]())
    window = _attempt(lambda: _find_window(record, ending, telemetry, arrivals), None)
    if window is None:
        return Timeline(0.0, 0.0)
    progress = _attempt(
        lambda: read_progress(record, most_bytes=MOST_LOG_BYTES), Progress(files=())
    )
    pid = _attempt(lambda: record.leader_pid, None)
    named = {sanitizer.line(name, MOST_NAME): sizes for name, sizes in arrivals.items()}
    panels = (
        *_list_or_skip(list_training_panels(progress, window, sanitizer)),
        *_list_or_skip(list_gpu_panels(telemetry, pid, window, sanitizer)),
        *_list_or_skip(list_host_panels(telemetry, window, sanitizer)),
        *_list_or_skip(list_output_panels(named, window)),
    )
    of_marks = MarkSources(
        events=_attempt(lambda: [*record.events()], []),
        telemetry=telemetry,
        progress=progress,
        arrivals=arrivals,
        ending=ending,
        verdict=_attempt(lambda: record.verdict, None),
    )
    marks = _attempt(lambda: list_marks(of_marks, panels, window, sanitizer), tuple[Mark, ...]())
    notes = tuple(_list_notes(progress))
    return Timeline(window.began_at, window.ended_at, panels, marks, notes)


def _attempt(read: Callable[[], T], default: T) -> T:
    try:
        return read()
    except Exception:  # noqa: BLE001 - the boundary: a record is what a damaged disk makes of it
        return default


def _list_or_skip(panels: Iterator[Panel]) -> list[Panel]:
    """Return the panels up to one that cannot be made."""
    found: list[Panel] = []
    _attempt(lambda: found.extend(panels), None)
    return found


def _read_telemetry(record: Record) -> Telemetry:
    telemetry = Telemetry()
    telemetry.read(record)
    return telemetry


def _read_all_arrivals(
    record: Record, logs: Sequence[str], ending: Ending | None
) -> dict[str, Arrivals]:
    """Return the arrivals of each log; at the end of the run it has its full size."""
    found: dict[str, Arrivals] = {}
    for column, name in enumerate(logs):
        arrivals = read_arrivals(record, column)
        status = record.log_status(name)
        if status is not None and ending is not None and ending.ended_at is not None:
            arrivals.append((ending.ended_at, status.st_size))
        found[name] = arrivals
    return found


def _find_window(
    record: Record, ending: Ending | None, telemetry: Telemetry, arrivals: Mapping[str, Arrivals]
) -> Window:
    """Return the time from the launch to the end; up to the last evidence where none is known."""
    times = [one[0] for sizes in arrivals.values() for one in (*sizes[:1], *sizes[-1:])]
    for of in ("host", "host:tree", *telemetry.list_entities("gpu")[:1]):
        for name in ("memory_available_bytes", "rss_bytes", "memory_used_bytes"):
            at = telemetry.series(of, name).at
            times += [*at[:1], *at[-1:]]
    statuses = (record.log_status(name) for name in arrivals)
    times += [one.st_mtime for one in statuses if one is not None and one.st_size]
    now = time.time()
    began_at = record.spec.created_at or (ending.started_at if ending is not None else 0.0)
    began_at = began_at or min(times, default=now)
    if ending is not None and ending.ended_at is not None:
        ended_at = ending.ended_at
    else:
        ended_at = now if record.is_held else min(max(times, default=now), now)
    return Window(began_at, max(ended_at, began_at + _LEAST_LENGTH_S))


def _list_notes(progress: Progress) -> Iterator[str]:
    """Yield the reason why losses and rate are not of every step, if they are not."""
    if progress.unread_bytes:
        read = size(progress.read_bytes)
        every = size(progress.read_bytes + progress.unread_bytes)
        yield f"losses and rate are from samples of a large log: {read} of {every} were read"
