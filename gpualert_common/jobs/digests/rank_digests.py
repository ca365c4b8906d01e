"""The ranks of a node in its digest: their ends, their collectives, the load of their GPUs, and
their waits for each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from gpualert_common.collectives.rank_positions import CollectivePositions
from gpualert_common.collectives.stall import Stall, StallKind
from gpualert_common.jobs.digests.digest import RankDigest
from gpualert_common.jobs.digests.wait_digests import count_rank_waits
from gpualert_common.quantities import is_number
from gpualert_common.structs import Struct, ValidationError, convert
from gpualert_common.telemetry.series import Telemetry, TelemetryEvent

MOST_RANKS_OF_NODE = 256
RECENT_S = 300.0
"""Time that the means are of: some steps of any training, and short enough to show a change."""


_Place = tuple[int | None, int | None, str]
_MOST_CALLS = 1 << 53


class NodeRanks(Struct, frozen=True):
    """The ranks of a node in the order of their numbers, and the number of all ranks of the job."""

    ranks: tuple[RankDigest, ...] = ()
    world_size: int | None = None


def collect_ranks(
    telemetry: Telemetry, node: int | None, now: float, moved_at: float = 0.0
) -> NodeRanks:
    """Return the ranks by the telemetry: of each rank its newest process.

    ``moved_at`` is the time of the last known step of the training.
    """
    newest: dict[int, TelemetryEvent] = {}
    sizes: list[int] = []
    for event in telemetry.find_events("rank_process"):
        rank = find_rank(event.of, event.fields, node)
        if rank is not None and (rank in newest or len(newest) < MOST_RANKS_OF_NODE):
            newest[rank] = event
        size = event.fields.get("world_size")
        if is_number(size) and size > 0:
            sizes.append(size)
    began_at = max((event.at for event in newest.values()), default=0.0)
    ends = {event.fields.get("pid"): event for event in telemetry.find_events("rank_ended")}
    places = _find_places(telemetry, moved_at)
    waits = count_rank_waits(telemetry, now)
    found = []
    for rank, event in sorted(newest.items()):
        end = ends.get(event.fields.get("pid"))
        if end is not None and end.at < began_at:
            continue  # of an earlier launch in the run
        code = None if end is None else end.fields.get("code")
        entered, completed, pending = places.get(rank, (None, None, ""))
        found.append(
            RankDigest(
                rank,
                code=code if is_number(code) else None,
                ended_at=None if end is None else end.at,
                sequence=entered,
                completed=completed,
                pending=pending,
                gpu_percent=_measure_gpu(telemetry, event.fields, now),
                waits=waits.get(event.of, ()),
            )
        )
    return NodeRanks(tuple(found), max(sizes, default=None))


def find_rank(of: str, fields: Mapping[str, object], node: int | None) -> int | None:
    """Return the rank in the job of "rank:3", or of "local_rank:3" on a node with an index."""
    kind, _, number = of.partition(":")
    if kind not in ("rank", "local_rank") or not number.isdecimal() or len(number) > 7:
        return None
    size = fields.get("local_world_size")
    if kind == "local_rank" and node is not None and is_number(size):
        return node * size + int(number)
    return int(number)


def _find_places(telemetry: Telemetry, moved_at: float) -> dict[int, _Place]:
    """Return the collective of each rank: the numbers that it has entered and completed, and the
    call that it is in.  What was seen before the training moved on last is outdated."""
    stalls = telemetry.find_events("collective_stall", "collective_stall_over")
    found: dict[int, _Place] = {}
    if stalls and stalls[-1].what == "collective_stall" and stalls[-1].at >= moved_at:
        found = _find_in_stall(stalls[-1])
    positions = telemetry.find_events("collective_positions")
    if positions and positions[-1].at >= moved_at:
        with suppress(ValidationError):  # of another release
            read = convert(dict(positions[-1].fields), CollectivePositions, strict=False)
            found |= {
                one.rank: (one.entered, one.completed, one.call)
                for one in read.ranks
                if 0 <= one.completed <= one.entered < _MOST_CALLS
            }
    return found


def _find_in_stall(event: TelemetryEvent) -> dict[int, _Place]:
    try:
        stall = convert(dict(event.fields), Stall, strict=False)
    except ValidationError:
        return {}
    if not 0 < stall.sequence < _MOST_CALLS:
        return {}
    direct = set(stall.waiting) - set(stall.indirect)
    found = _at(direct, stall.sequence, stall.sequence - 1, stall.call)
    if stall.kind in (StallKind.MISSING, StallKind.ABSENT):
        found |= _at(stall.culprits, stall.sequence - 1, None, "")
    elif stall.kind is StallKind.MISMATCH:
        found |= _at(stall.culprits, stall.sequence, stall.sequence - 1, stall.other_call)
    return found


def _at(ranks: Iterable[int], entered: int, completed: int | None, call: str) -> dict[int, _Place]:
    return dict.fromkeys(ranks, (entered, completed, call))


def _measure_gpu(telemetry: Telemetry, fields: Mapping[str, object], now: float) -> float | None:
    """Return the mean load of the GPU that a rank uses; None where that is not known."""
    gpu = _find_gpu(telemetry, fields)
    if gpu is None:
        return None
    recent = telemetry.series(gpu, "utilization_percent").since(now - RECENT_S)
    return sum(recent.value) / len(recent.value) if recent else None


def _find_gpu(telemetry: Telemetry, fields: Mapping[str, object]) -> str | None:
    """Return the GPU on which the process of a rank has memory, else that of its local rank."""
    pid, local = fields.get("pid"), fields.get("local_rank")
    gpus = telemetry.list_entities("gpu")
    used = [name.partition("/")[0] for name in gpus if name.endswith(f"/pid:{pid}")]
    if len(set(used)) == 1:
        return used[0]
    visible = str(fields.get("visible_gpus") or "").split(",")
    if is_number(local) and 0 <= local < len(visible) and visible[local].isdecimal():
        local = int(visible[local])
    name = f"gpu:{local}"
    return name if name in gpus else None
