"""Participants of a distributed run on this machine: its ranks and launchers, and their words."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping

from gpualert_common.coordinator.announcement import Announcement, read_announcement
from gpualert_common.processes.procfs import (
    ProcessStat,
    parse_environment,
    read_command,
    read_environment,
    read_network,
)
from gpualert_common.structs import Struct, replace

_MOST_READ = 1024
"""Processes whose environment is read: a node has fewer ranks."""


class Participants(Struct, frozen=True):
    """The common announcement of the processes, and the ranks that run on this machine.

    ``ranks`` are those whose environment shows the rank, in order; ``repeated`` the ranks that more
    than one process has.  ``in_launcher`` is True while a launcher has started no rank yet.
    ``network`` is the network namespace of the processes, 0 if not known.
    """

    announcement: Announcement = Announcement()
    ranks: tuple[int, ...] = ()
    repeated: tuple[int, ...] = ()
    in_launcher: bool = False
    pid: int = 0
    network: int = 0


def find_participants(members: Mapping[int, ProcessStat]) -> Participants | None:
    """Return the participants among the processes of a run; None if none announces an endpoint.

    A rank counts before a launcher, whose ranks may meet at another address than the launchers.
    """
    announced = {
        pid: _read(pid)
        for pid in sorted(members)[:_MOST_READ]
        if members[pid].is_live and pid != os.getpid()
    }
    launchers = {pid for pid, one in announced.items() if one.launcher}
    ranks = {
        pid: one.rank
        for pid, one in announced.items()
        if one.rank is not None
        and not one.launcher
        and not _is_child(pid, announced, members)
        and (not launchers or _list_ancestors(pid, members) & launchers)
    }
    chosen = next(
        (pid for pid in (*ranks, *launchers, *announced) if announced[pid].endpoints), None
    )
    if chosen is None:
        return None
    counts = Counter(ranks.values())
    found = announced[chosen]
    if launchers and not found.launcher:  # the number of nodes is the launcher's to say
        launcher = announced[min(launchers)]
        found = replace(found, nodes=found.nodes or launcher.nodes)
    return Participants(
        announcement=found,
        ranks=tuple(sorted(counts)),
        repeated=tuple(sorted(rank for rank, count in counts.items() if count > 1)),
        in_launcher=bool(launchers) and not ranks,
        pid=chosen,
        network=read_network(chosen),
    )


def _read(pid: int) -> Announcement:
    environment = parse_environment(read_environment(pid) or b"")
    return read_announcement(environment, read_command(pid))


def _is_child(
    pid: int, announced: Mapping[int, Announcement], members: Mapping[int, ProcessStat]
) -> bool:
    """Return whether a process inherited its rank: a data loader, or the program of a shell."""
    above = announced.get(members[pid].parent)
    return above is not None and not above.launcher and above.rank == announced[pid].rank


def _list_ancestors(pid: int, members: Mapping[int, ProcessStat]) -> set[int]:
    found: set[int] = set()
    while pid in members and (above := members[pid].parent) in members and above not in found:
        found.add(above)
        pid = above
    return found
