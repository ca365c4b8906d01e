"""Processes to sample: the ranks of a run, and the Python processes below them."""

from __future__ import annotations

from collections.abc import Mapping

from gpualert_common.processes.procfs import ProcessStat, read, read_stat
from gpualert_common.stacks import py_spy
from gpualert_common.stacks.collection import find_labels
from gpualert_common.structs import Struct

MOST_PROCESSES = 256


class Target(Struct, frozen=True):
    """One process to sample: that of a rank, or of a worker below it.

    ``rank`` is its number, None in a run without ranks.
    """

    pid: int
    rank: int | None
    is_worker: bool


def find_targets(
    leader: int, members: Mapping[int, ProcessStat], chosen: frozenset[int]
) -> tuple[list[Target], int]:
    """Return the ranks and the Python processes below them, ranks first, and the number of those
    beyond the limit."""
    labels = find_labels(leader, members)
    ranks = _number_ranks(labels)
    if chosen:
        ranks = {pid: rank for pid, rank in ranks.items() if rank in chosen}
    ordered = sorted(ranks, key=lambda pid: ranks[pid] or 0)
    found = [Target(pid, ranks[pid], False) for pid in ordered]
    for one in members.values():
        owner = _find_owner(one, members, labels)
        if owner in ranks and one.is_live and _runs_python(one.pid):
            found.append(Target(one.pid, ranks[owner], True))
    return found[:MOST_PROCESSES], max(0, len(found) - MOST_PROCESSES)


def _number_ranks(labels: Mapping[int, str]) -> dict[int, int | None]:
    """Return the number of each rank; a process that has only a local rank is none beside others.

    Two processes then have the same number.
    """
    has_ranks = any(label.startswith("rank:") for label in labels.values())
    return {
        pid: _get_number(label)
        for pid, label in labels.items()
        if label.startswith("rank:") or not has_ranks
    }


def _find_owner(
    one: ProcessStat, members: Mapping[int, ProcessStat], labels: Mapping[int, str]
) -> int:
    """Return the number of the nearest process above that is a rank; 0 for one that is a rank
    itself, or has none."""
    above = members.get(one.parent) if one.pid not in labels else None
    while above is not None and above.pid not in labels:
        above = members.get(above.parent)
    return 0 if above is None else above.pid


def _get_number(label: str) -> int | None:
    number = label.rpartition(":")[2]
    return int(number) if number.isdecimal() else None


def _runs_python(pid: int) -> bool:
    return b"python" in read(f"/proc/{pid}/maps")


def find_problem(pid: int) -> str:
    """Return why a process cannot be sampled; "" if it can."""
    libraries = read(f"/proc/{pid}/maps")
    if b"python" in libraries:
        return ""
    if not is_live(pid):
        return "it has ended"
    return "it runs no Python" if libraries else py_spy.explain_refusal(pid)


def is_live(pid: int) -> bool:
    """False for a process that has exited."""
    stat = read_stat(pid)
    return stat is not None and stat.is_live


def is_stopped(pid: int) -> bool:
    """True for a process that a signal has stopped."""
    stat = read_stat(pid)
    return stat is not None and stat.state == "T"
