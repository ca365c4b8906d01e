"""Facts about a run in progress: its progress, its last output, and advice for its warnings."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

from gpualert_common.diagnose.run_gpus import list_gpus, list_pids
from gpualert_common.diagnose.warning_state import WarningState
from gpualert_common.errors import RecordError
from gpualert_common.progress import Point, list_moments
from gpualert_common.record import Record
from gpualert_common.report.formatting import duration
from gpualert_common.report.run_facts import Fact
from gpualert_common.run_progress import read_progress
from gpualert_common.stacks.reasons import explain_hang
from gpualert_common.stacks.storage import read_dumps
from gpualert_common.structs import Struct
from gpualert_common.telemetry.series import Telemetry

TAIL_BYTES = 1 << 20
"""End of a log, which has the newest progress."""
_MOST_STEPS = 1e15


class LiveProgress(Struct, frozen=True):
    """Progress of a run in numbers; None is unknown.

    ``position`` and ``total`` count ``unit``, such as "step"; ``pace_s`` is the seconds that one of
    them takes at present.  ``loss`` is the newest one, which may be NaN or infinite.
    ``is_repeated`` says that the position came to the total before, and began again: the total is
    that of an epoch, and the end of the training is unknown.
    """

    unit: str = "step"
    position: float | None = None
    total: float | None = None
    loss: float | None = None
    pace_s: float | None = None
    position_at: float | None = None
    is_repeated: bool = False

    @property
    def left_s(self) -> float | None:
        """Seconds from the newest position to the last step at the present pace."""
        if self.pace_s is None or self.total is None or self.position is None or self.is_repeated:
            return None
        if not _MOST_STEPS > self.total > self.position:
            return None
        return (self.total - self.position) * self.pace_s

    def estimate_left_s(self, now: float) -> float | None:
        """Return the seconds from *now* to the last step, 0 once it is reached or overdue.

        None where the end is unknown, as it is behind a total that was passed.
        """
        if self.total and self.position == self.total and not self.is_repeated:
            return 0.0
        left_s = self.left_s
        if left_s is None or self.position_at is None:
            return left_s
        return max(0.0, left_s - max(0.0, now - self.position_at))

    @property
    def share(self) -> float | None:
        """Share of the steps that are done, from 0 to 1."""
        if self.position is None or not self.total or not self.total < _MOST_STEPS:
            return None
        return min(1.0, max(0.0, self.position / self.total))


class MachineLoad(Struct, frozen=True):
    """Newest numbers of the machine, of all GPUs of a run together; None is unknown.

    ``gpu_percent`` is the mean activity of the run's ``gpus`` GPUs; the memory is that in use and
    in all.  ``host_bytes`` is the memory of the run's processes.
    """

    gpus: int = 0
    gpu_percent: float | None = None
    gpu_bytes: float | None = None
    gpu_total_bytes: float | None = None
    host_bytes: float | None = None


def read_live_progress(record: Record, *, most_bytes: int = TAIL_BYTES) -> LiveProgress:
    """Return the progress by the begin of each log and ``most_bytes`` of its end."""
    read = read_progress(record, most_bytes=most_bytes)
    losses = [point.loss for point in read.points if point.loss is not None]
    loss = losses[-1] if losses else None
    positions = [point for point in read.points if point.position is not None]
    if not positions:
        return LiveProgress(loss=loss)
    last = positions[-1]
    has_steps = last.step is not None
    total = read.counts.total_steps if has_steps else read.counts.total_epochs
    return LiveProgress(
        unit=read.unit if has_steps else "epoch",
        position=last.position,
        total=total,
        loss=loss,
        pace_s=_pace_s(positions),
        position_at=last.at,
        is_repeated=total is not None and _is_repeated(positions, total),
    )


def read_machine_load(telemetry: Telemetry, leader: int | None) -> MachineLoad:
    """Return the newest numbers in the telemetry of a run, by the process of its leader."""
    gpus = list_gpus(telemetry, list_pids(telemetry, leader))
    activity = _read_newest(telemetry, gpus, "utilization_percent")
    used = _read_newest(telemetry, gpus, "memory_used_bytes")
    total = _read_newest(telemetry, gpus, "memory_total_bytes")
    host = _read_newest(telemetry, ["host:tree"], "rss_bytes")
    return MachineLoad(
        gpus=len(gpus),
        gpu_percent=sum(activity) / len(activity) if activity else None,
        gpu_bytes=sum(used) if used else None,
        gpu_total_bytes=sum(total) if total else None,
        host_bytes=host[0] if host else None,
    )


def find_last_output(record: Record) -> float | None:
    """Return the time of the newest output in one of the logs; None without any."""
    return max(_list_log_times(record), default=None)


def collect_live_facts(record: Record) -> list[Fact]:
    """Return the facts about a run in progress, the most important first."""
    progress = describe_live_progress(read_live_progress(record))
    facts = [("Do", advice) for advice in WarningState(record.events()).advice()]
    facts += [("Progress", progress)] if progress else []
    facts += [("Stacks", text) for text in _describe_stacks(record)]
    return [*facts, ("Last output", _describe_last_output(record))]


def describe_live_progress(progress: LiveProgress) -> str:
    """Return the progress in words; "" if the position is unknown."""
    if progress.position is None:
        return ""
    unit = progress.unit
    shown = [f"{unit} {_format_count(progress.position)}"]
    if progress.total:
        shown[0] += f" of {_format_count(progress.total)}"
    if progress.loss is not None:
        shown.append(f"loss {progress.loss:.4g}")
    if progress.pace_s:
        pace_s = progress.pace_s
        pace = f"{pace_s:.2g} s" if pace_s < 10 else duration(pace_s)
        shown.append(f"{pace} per {unit}")
        if progress.left_s is not None:
            shown.append(f"about {duration(progress.left_s)} left")
    return ", ".join(shown)


def _format_count(value: float) -> str:
    return str(int(value)) if abs(value) < _MOST_STEPS and value % 1 == 0 else f"{value:g}"


def _read_newest(telemetry: Telemetry, entities: Sequence[str], name: str) -> list[float]:
    """Return the newest finite value of each entity that has one."""
    found = (telemetry.series(entity, name) for entity in entities)
    return [series.last for series in found if series and math.isfinite(series.last)]


def _describe_stacks(record: Record) -> Iterator[str]:
    """Yield where the run stands, by its last dump, if it has printed nothing since."""
    try:
        dumps = read_dumps(record)
    except RecordError:
        return
    printed_at = find_last_output(record) or 0.0
    taken = [dump for dump in dumps if dump.at > printed_at]
    found = explain_hang(taken[-1], taken[0] if taken[1:] else None) if taken else None
    if found is not None:
        clock = time.strftime("%H:%M:%S %z", time.localtime(taken[-1].at))
        yield f"{found.text} (at {clock}; more: gpualert stacks)"


def _describe_last_output(record: Record) -> str:
    """Return the time of the newest output in one of its logs."""
    at = find_last_output(record)
    if at is None:
        return "no output yet"
    clock = time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(at))
    return f"{duration(max(0.0, time.time() - at))} ago ({clock})"


def _list_log_times(record: Record) -> Iterator[float]:
    for name in record.logs:
        found = record.log_status(name)
        if found is not None and found.st_size:
            yield found.st_mtime


def _is_repeated(points: Sequence[Point], total: float) -> bool:
    """True if the position came to the total, as far as that is printed, and began again."""
    before = distance = 0.0
    for point in points:
        position = point.position or 0.0
        if position <= before / 2 and before + distance >= total:
            return True
        before, distance = position, position - before
    return False


def _pace_s(points: Sequence[Point]) -> float | None:
    """Return the seconds per step (or epoch), from the second half of the timed points."""
    segment = points[-1].segment
    known = list_moments(one for one in points if one.segment == segment)
    if len(known) < 2:
        return None
    (began_at, first), (at, last) = known[(len(known) - 1) // 2], known[-1]
    return (at - began_at) / (last - first) if at > began_at and last > first else None
