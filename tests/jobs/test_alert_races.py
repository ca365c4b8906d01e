"""Races of nodes for the alert of a job, request by request in an order that a seed decides."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

from gpualert_common.jobs.alerts.alert_action import JobAlertAction
from gpualert_common.jobs.alerts.alert_ownership import SENDING_LEASE_S
from tests.jobs.alerting_nodes import SENDING, AlertedJob, AlertedNode
from tests.jobs.composed_job import END, lose
from tests.jobs.test_alert_ownership import digests

RACERS = 16


class Turns:
    """The turns of threads: one at a time makes its next request, chosen at random."""

    def __init__(self, seed: int, threads: int) -> None:
        self._random = random.Random(seed)
        self._condition = threading.Condition()
        self._waiting: set[int] = set()
        self._running = threads
        self._turn: int | None = None

    def take(self, thread: int) -> None:
        """Wait for the next turn of a thread."""
        with self._condition:
            self._waiting.add(thread)
            self._running -= 1
            self._choose()
            self._condition.wait_for(lambda: self._turn == thread)
            self._turn = None
            self._waiting.discard(thread)
            self._running += 1

    def leave(self) -> None:
        """End a thread."""
        with self._condition:
            self._running -= 1
            self._choose()

    def _choose(self) -> None:
        if not self._running and self._waiting:
            self._turn = self._random.choice(sorted(self._waiting))
            self._condition.notify_all()


def race(nodes: list[AlertedNode], seed: int, begin: float, steps: int) -> list[AlertedNode]:
    """Step all nodes at the same time, without a pause; return those that send the alert."""
    turns = Turns(seed, len(nodes))
    senders: list[AlertedNode] = []

    def step(node: AlertedNode, index: int) -> None:
        node.store.before = lambda _number: turns.take(index)
        try:
            for i in range(steps):
                found = node.alert.step(begin + i)
                node.steps.append(found)
                if found.action in SENDING:
                    senders.append(node)
                    node.alert.note_sent(begin + i)
                if found.action is not JobAlertAction.WAIT:
                    return
        finally:
            turns.leave()

    threads = [threading.Thread(target=step, args=(one, i)) for i, one in enumerate(nodes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return senders


@pytest.mark.parametrize("seed", range(5))
def test_claim(tmp_path: Path, seed: int) -> None:
    """Of nodes that claim at the same moment, in any order of their requests, one sends."""
    job = AlertedJob(tmp_path)
    nodes = [job.add(one) for one in digests(RACERS)]
    assert len(race(nodes, seed, END + 3.0, 25)) == 1


@pytest.mark.parametrize("seed", range(5))
def test_takeover(tmp_path: Path, seed: int) -> None:
    """Of nodes that take the claim of a dead one over at the same moment, one sends."""
    job = AlertedJob(tmp_path)
    dead, *others = [job.add(one) for one in digests(RACERS)]
    dead.alert.step(END + 3.0)
    for one in others:
        one.alert.step(END + 3.0)
    assert len(race(others, seed, END + 4.0 + SENDING_LEASE_S, 25)) == 1


@pytest.mark.parametrize("seed", range(3))
def test_owner_returns_during_takeover(tmp_path: Path, seed: int) -> None:
    """An owner that returns while others take its claim over never makes a third alert."""
    job = AlertedJob(tmp_path)
    nodes = [job.add(lose(i, END + i / 10, 6)) for i in range(6)]
    for one in nodes:
        one.alert.step(END + 3.0)
    assert 1 <= len(race(nodes, seed, END + 4.0 + SENDING_LEASE_S, 300)) <= 2
