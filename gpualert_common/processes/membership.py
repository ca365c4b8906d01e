"""The decision which processes belong to a run.

A process belongs to the run when it

1. is a leader, its child, or in the leader's session or group,
2. carries the run's marker in its environment,
3. is known to belong: it did before, or came to the run's supervisor as an orphan, or
4. is the child of a process that belongs.

A daemon that forked twice into a session of its own still carries the marker; one that also cleaned
its environment is an orphan of the run where the supervisor is its subreaper.  A process that a
daemon starts on behalf of the run, such as a container, is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from gpualert_common.processes.procfs import ProcessStat


def find_members(
    stats: Mapping[int, ProcessStat],
    leaders: Collection[int],
    known: Iterable[int],
    is_marked: Callable[[ProcessStat], bool],
) -> set[int]:
    """Return the numbers of the processes in ``stats`` that belong to the run.

    ``leaders`` are without one whose number may be another's: nobody is left in a session or group
    of that number then.  ``is_marked`` is asked last, since it reads the environment.
    """
    members = set(known)
    _add_related(members, stats, leaders)
    marked = {pid for pid in stats.keys() - members if is_marked(stats[pid])}
    if marked:
        members |= marked
        _add_related(members, stats, leaders)
    return members


def _add_related(
    members: set[int], stats: Mapping[int, ProcessStat], leaders: Collection[int]
) -> None:
    pending = True
    while pending:
        found = {
            pid
            for pid, stat in stats.items()
            if pid not in members
            and (
                stat.parent in members
                or pid in leaders
                or stat.parent in leaders
                or stat.session in leaders
                or stat.group in leaders
            )
        }
        members |= found
        pending = bool(found)
