"""Attempts of a job: the runs of each start of the whole job, from one folder of digests.

A scheduler or an engine numbers them.  A run that starts on a node after another one has ended
there begins an attempt, too, and so does one that starts after all runs of the attempt have ended,
unless it is a node that was still missing.  If the other nodes go on, the node has only joined them
again: its new run takes the place of the old one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from gpualert_common.jobs.merging.node_run import NodeRun
from gpualert_common.jobs.merging.silence import find_end

START_SPREAD_S = 300.0
"""Time within which the nodes of one attempt start: images and modules load at different speeds."""


def list_attempts(runs: Iterable[NodeRun]) -> dict[int, list[NodeRun]]:
    """Return the runs of each attempt by its number, the oldest attempt first.

    The number is that of the scheduler or engine, if it is higher than that of the one before.
    """
    found: dict[int, list[NodeRun]] = {}
    number = 0
    for members in _split(runs):
        number = max(number + 1, members[0].attempt or 0)
        found[number] = members
    return found


def _split(runs: Iterable[NodeRun]) -> list[list[NodeRun]]:
    numbered: dict[int, list[NodeRun]] = defaultdict(list)
    others: list[NodeRun] = []
    for run in sorted(runs, key=lambda one: (one.started_at, one.run_id)):
        if run.attempt is None:
            others.append(run)
        else:
            numbered[run.attempt].append(run)
    if not numbered:
        return _split_by_time(others)
    order = sorted(numbered)
    for run in others:
        begun = [
            one for one in order if numbered[one][0].started_at <= run.started_at + START_SPREAD_S
        ]
        numbered[begun[-1] if begun else order[0]].append(run)
    parts: list[list[NodeRun]] = []
    for one in order:
        runs_of_one = sorted(numbered[one], key=lambda run: (run.started_at, run.run_id))
        parts += _split_by_time(runs_of_one)
    return parts


def count_nodes(runs: Iterable[NodeRun]) -> int | None:
    """Return the number of nodes that most runs expect, None if none knows it."""
    votes: dict[int, int] = defaultdict(int)
    for run in runs:
        if run.nodes is not None:
            votes[run.nodes] += 1
    return max(votes, key=lambda nodes: (votes[nodes], nodes)) if votes else None


class _Attempt:
    """Runs of one attempt while they are collected, in the order of their starts."""

    def __init__(self, first: NodeRun) -> None:
        self.ended_at = 0.0
        """Time of the last end."""
        self._started_at = first.started_at
        self._places: dict[int | str, list[NodeRun]] = {}
        self._first_ends: dict[int | str, float] = {}
        self._late: list[NodeRun] = []
        self._votes: dict[int, int] = defaultdict(int)
        self.add(first)

    @property
    def runs(self) -> list[NodeRun]:
        """The runs of the attempt, without those whose place another one has taken."""
        return [run for runs in self._places.values() for run in runs]

    def add(self, run: NodeRun) -> None:
        if self._places and run.started_at > self.ended_at:
            self._late.append(run)
        runs = self._places.setdefault(run.place, [])
        end = find_end(run)
        first_end = self._first_ends.get(run.place, end)
        if run.started_at > first_end:
            runs[:] = [one for one in runs if find_end(one) >= run.started_at]
            first_end = min(map(find_end, runs), default=end)
        runs.append(run)
        self._first_ends[run.place] = min(end, first_end)
        if run.nodes is not None:
            self._votes[run.nodes] += 1
        self.ended_at = max(end, self.ended_at)

    def has_room_for(self, run: NodeRun) -> bool:
        """Return whether a run belongs to this attempt."""
        if run.started_at > self._first_ends.get(run.place, run.started_at):
            return self._goes_on_without(run)
        if run.started_at <= self.ended_at:
            return True
        expected = max(self._votes, key=lambda nodes: self._votes[nodes], default=0)
        is_missing = run.place not in self._places and len(self._places) < expected
        return is_missing and run.started_at <= self._started_at + START_SPREAD_S

    def _goes_on_without(self, run: NodeRun) -> bool:
        """Return whether most other nodes went on, long after the start of a run on this one.

        In a restart of the whole job their runs end at that time, too.
        """
        since = run.started_at + START_SPREAD_S
        others = [runs for place, runs in self._places.items() if place != run.place]
        going_on = sum(any(_last_sign(one) > since for one in runs) for runs in others)
        return 2 * going_on > len(others)

    def take_late(self) -> list[NodeRun]:
        """Return, and remove, the runs that started after all others had ended.

        Another attempt has begun since: they are its first ones.
        """
        late, self._late = self._late, []
        ids = {run.run_id for run in late}
        for place, runs in list(self._places.items()):
            self._places[place] = [run for run in runs if run.run_id not in ids]
        return late


def _last_sign(run: NodeRun) -> float:
    """Return the end of a run, or the time of its last sign of life."""
    return (run.ended_at or run.at) if run.is_ended else run.heard_at


def _split_by_time(runs: Sequence[NodeRun]) -> list[list[NodeRun]]:
    found: list[_Attempt] = []
    for run in runs:
        if found and found[-1].has_room_for(run):
            found[-1].add(run)
            continue
        late = found[-1].take_late() if found else []
        found.append(_Attempt((*late, run)[0]))
        for one in (*late, run)[1:]:
            found[-1].add(one)
    return [one.runs for one in found if one.runs]
