"""Ranks of the run, or its process: where each ran, its use of the machine, and its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from gpualert_common.pages.reported_run import ReportedRun
from gpualert_common.pages.sections._interface import Room, Section
from gpualert_common.pages.series_figures import mean_rate
from gpualert_common.report.formatting import size
from gpualert_common.signal_names import signal_name
from gpualert_common.stacks.description import describe_state
from gpualert_common.stacks.groups import group_processes
from gpualert_common.structs import Struct, replace
from gpualert_common.telemetry.series import TelemetryEvent

_MOST_RANKS = 256
_FEW_RANKS = 16
"""As many are read at one glance."""
_KINDS = ("rank", "local_rank")


class RankRow(Struct, frozen=True):
    """One rank.  Numbers as text, "" where they are not known; ``has_failed`` by its own end."""

    name: str
    process: str
    place: str
    gpu: str
    cores: str
    memory: str
    state: str
    has_failed: bool = False


class RankTable(Struct, frozen=True):
    """Rows by rank; the others are only counted.

    ``notable`` are those of many ranks that failed, or are in another state than most.
    """

    host: str
    rows: tuple[RankRow, ...]
    left_out: int
    notable: tuple[RankRow, ...] = ()


def _collect(run: ReportedRun, room: Room) -> RankTable | None:
    names = _list_names(run)
    ends = {one.of: one for one in run.telemetry.find_events("rank_ended")}
    places = {one.of: one for one in run.telemetry.find_events("rank_process")}
    states = _read_states(run)
    most = room.limit(_MOST_RANKS)
    rows = tuple(_make_row(run, name, places, ends, states) for name in names[:most])
    if not rows:
        return None
    return RankTable(run.view.host, rows, len(names) - len(rows), _find_notable(rows))


def _find_notable(rows: Sequence[RankRow]) -> tuple[RankRow, ...]:
    if len(rows) <= _FEW_RANKS:
        return ()
    ((usual, _count),) = Counter(row.state for row in rows).most_common(1)
    found = [row for row in rows if row.has_failed or row.state != usual]
    return tuple(found[:_FEW_RANKS])


def _list_names(run: ReportedRun) -> list[str]:
    """Return the ranks in order; without ranks, the leader's program."""
    telemetry = run.telemetry
    found = {one.of for one in telemetry.find_events("rank_process", "rank_ended")}
    found |= {name for kind in (*_KINDS, "leader") for name in telemetry.list_entities(kind)}
    found |= {one.label for dump in run.dumps for one in dump.processes if one.label}
    ranks = [name for name in found if name.partition(":")[0] in _KINDS]
    return sorted(ranks, key=lambda name: (len(name), name)) or sorted(found & {"leader"})


def _read_states(run: ReportedRun) -> dict[str, str]:
    """Return by rank what its process did at the last dump of the stacks."""
    if not run.dumps:
        return {}
    last = run.dumps[-1]
    at = run.format_time(last.at)[11:19]
    return {
        process.label: f"{describe_state(replace(group, processes=(process,)))} (at {at})"
        for group in group_processes(last)
        for process in group.processes
        if process.label
    }


def _make_row(
    run: ReportedRun,
    name: str,
    places: Mapping[str, TelemetryEvent],
    ends: Mapping[str, TelemetryEvent],
    states: Mapping[str, str],
) -> RankRow:
    known = places[name].fields if name in places else {}
    end = ends.get(name)
    rss = run.telemetry.series(name, "rss_bytes")
    cores = mean_rate(run.telemetry.series(name, "cpu_seconds_total"))
    code = end.fields.get("code") if end else None
    state = _describe_end(end) if end else states.get(name, "")
    text = run.text
    return RankRow(
        name=text.line(name.replace("_", " ").replace(":", " ")),
        process=text.line(str(known.get("pid", end.fields.get("pid", "") if end else ""))),
        place=text.line(", ".join(_list_places(known))),
        gpu=text.line(_find_gpu(known)),
        cores="" if cores is None else f"{cores:.2f}",
        memory=size(int(rss.peak)) if rss else "",
        state=text.line(state),
        has_failed=isinstance(code, int) and code != 0,
    )


def _describe_end(end: TelemetryEvent) -> str:
    code = end.fields.get("code")
    if not isinstance(code, int):
        return "ended; its exit status could not be seen"
    return f"killed by {signal_name(-code)}" if code < 0 else f"exit status {code}"


def _list_places(known: Mapping[str, object]) -> Iterator[str]:
    for key in ("container", "pod", "slurm_job", "slurm_step"):
        if known.get(key):
            yield f"{key.replace('_', ' ')} {known[key]}"


def _find_gpu(known: Mapping[str, object]) -> str:
    """Return the GPU of a process: that of its local rank among the visible ones."""
    visible = str(known.get("visible_gpus", ""))
    gpus = [one for one in visible.split(",") if one.strip()]
    local = known.get("local_rank")
    if isinstance(local, int) and 0 <= local < len(gpus):
        return gpus[local]
    return visible


SECTION = Section("Ranks", order=40, most_bytes=70_000, collect=_collect)
