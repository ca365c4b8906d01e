"""The processes of a run as they come and go, looked for again and again at little cost.

A process belongs to the run when it descends from the leader, is in its session or group, or
carries the run's mark in its environment; once it did, it does.  Who was found to be a stranger is
not looked at again for a minute: a process is what it was born as.  What a daemon starts on behalf
of the run, such as a container, is not found.
"""

from __future__ import annotations

import os

from gpualert_common.observe.procfs import Stat, read, stat

_LOOKS_UNTIL_STRANGERS_ARE_CHECKED = 12
"""A number may have gone to somebody else meanwhile."""
_MOST_REMEMBERED = 100_000
_KTHREADD = 2


class RunTree:
    """The processes of one run; ``leader`` is a process that lives."""

    def __init__(self, leader: int, mark: str) -> None:
        born = stat(leader)
        self._leader: int | None = leader
        self._leader_born = born.start_ticks if born else 0
        self._mark = f"\0{mark}=".encode()
        self._members: dict[int, int] = {}
        self._seen: dict[int, None] = {leader: None}
        self._strangers: set[int] = set()
        self._looks = 0

    def members(self) -> dict[int, Stat]:
        """Every process of the run by its number, also those that wait to be reaped."""
        self._looks += 1
        if self._looks % _LOOKS_UNTIL_STRANGERS_ARE_CHECKED == 0:
            self._strangers.clear()
        there = {int(name) for name in os.listdir("/proc") if name.isdigit()}
        self._strangers &= there
        stats = {}
        for pid in there - self._strangers - {os.getpid()}:
            found = stat(pid)
            if found is not None:
                stats[pid] = found
        self._lose_leader(stats)
        members = {pid for pid, born in self._members.items() if _is(stats.get(pid), born)}
        self._add_related(members, stats)
        marked = {pid for pid in stats.keys() - members if self._is_marked(stats[pid])}
        if marked:
            members |= marked
            self._add_related(members, stats)
        self._strangers -= members
        self._members = {pid: stats[pid].start_ticks for pid in members}
        self._remember(members)
        return {pid: stats[pid] for pid in sorted(members)}

    def belongs(self, pid: int) -> bool | None:
        """Whether the process that had this number lately was one of the run, None if unknown."""
        if pid in self._strangers:
            return False
        return True if pid in self._seen else None

    def _lose_leader(self, stats: dict[int, Stat]) -> None:
        """Once its number is another's, nobody is left in a session or group of that number."""
        if self._leader in stats and not _is(stats[self._leader], self._leader_born):
            self._leader = None

    def _add_related(self, members: set[int], stats: dict[int, Stat]) -> None:
        found = True
        while found:
            found = False
            for pid, one in stats.items():
                near = self._leader in (pid, one.session, one.group) or one.parent in members
                if pid not in members and near:
                    members.add(pid)
                    found = True

    def _is_marked(self, one: Stat) -> bool:
        """Whether it carries the mark; if it certainly does not, it is a stranger from now on."""
        if _KTHREADD in (one.pid, one.parent):
            self._strangers.add(one.pid)
            return False
        environment = read(f"/proc/{one.pid}/environ")
        if self._mark in b"\0" + environment:
            return True
        if environment or read(f"/proc/{one.pid}/cmdline"):  # else it may be at its exec
            self._strangers.add(one.pid)
        return False

    def _remember(self, members: set[int]) -> None:
        for pid in members:
            self._seen.setdefault(pid)
        while len(self._seen) > _MOST_REMEMBERED:
            del self._seen[next(iter(self._seen))]


def _is(found: Stat | None, born: int) -> bool:
    return found is not None and found.start_ticks == born
