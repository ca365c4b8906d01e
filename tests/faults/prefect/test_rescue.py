"""Tests of crashed flow runs that Prefect's automations run again."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client
from prefect.events.schemas.automations import EventTrigger
from prefect_gpualert.rescue import DEFAULT_SILENT_S, make_automations

from gpualert_common.record import VERDICT
from tests.faults.prefect.deployment import Place, end, environment, worker
from tests.faults.prefect.scene import START_S, Scene
from tests.faults.prefect.test_adoption import begin, result_of
from tests.supervised import is_alive, until

pytestmark = pytest.mark.e2e

WHILE_S = 900.0
"""Longer than any test takes: the tests end the trainings."""


def rescue(place: Place, *arguments: str) -> list[str]:
    """Run the command for the automations; return its lines."""
    done = subprocess.run(
        [sys.executable, "-m", "prefect_gpualert", "rescue", *arguments],
        env=environment(place.home, PREFECT_API_URL=place.url),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.fixture
def automations(place: Place) -> Iterator[None]:
    """Have the automations for one test."""
    rescue(place, "--silent-for", "60")
    yield
    rescue(place, "--remove")


@pytest.fixture
def new_scene(place: Place) -> Iterator[Callable[[str], Scene]]:
    """Return a factory of scenes, ended with the test."""
    made: list[Scene] = []

    def make(face: str) -> Scene:
        made.append(Scene.new(place, face))
        return made[-1]

    yield make
    for scene in made:
        scene.clear()


def train_for_a_while(scenes: list[Scene], **parameters: object) -> None:
    """Run the scenes by the worker until each has trained for seconds, as Prefect's database of
    tests may be locked while trainings start."""
    begin(scenes, **parameters)
    until(lambda: all(map(has_trained, scenes)), "twenty steps", START_S)


def has_trained(scene: Scene) -> bool:
    """Return whether the log of the training has twenty steps."""
    (record,) = scene.records()
    return b"step 20 " in Path(record.log_path(record.logs[0])).read_bytes()


def kill_engine(scene: Scene) -> None:
    """Send SIGKILL to the engine."""
    scene.signal_engine(signal.SIGKILL)


def assert_adopted(scene: Scene, place: Place) -> None:
    """Check that a second engine adopts the only training and returns its result."""
    until(lambda: len(scene.engines()) == 2, "the flow to be run again", START_S)
    until(lambda: scene.records()[0].event("adopted"), "the adoption", START_S)
    scene.let_end()
    until(lambda: scene.ended() is not None, "the flow to end", START_S)
    (pid,) = place.observer.found[scene.mark]
    assert result_of(scene) == f"trained by {pid}"
    assert len(scene.records()) == 1
    until(lambda: scene.state() == "Completed", "the flow to be completed", START_S)


def test_command_is_idempotent(place: Place) -> None:
    """The command creates its automations, a second call changes none, and it removes them."""
    first = rescue(place)
    assert [line.rpartition(": ")[2] for line in first] == ["created"] * 3
    second = rescue(place)
    assert [line.rpartition(": ")[2] for line in second] == ["exists"] * 3
    assert rescue(place, "--silent-for", "100")[2].endswith("crashed: updated")
    assert rescue(place, "--silent-for", "0")[2].endswith("crashed: removed")
    with get_client(sync_client=True) as client:
        assert len(client.read_automations()) == 2
    assert len(rescue(place, "--remove")) == 2
    assert rescue(place, "--remove") == ["there is nothing to remove"]


@pytest.mark.usefixtures("automations")
def test_killed_engine_is_run_again(place: Place, new_scene: Callable[[str], Scene]) -> None:
    """After SIGKILL of its engine a flow run with a retry runs again by itself, and its task
    adopts the training, without any argument about adoption.  After another SIGKILL no retry is
    left: the training ends at once, and nothing runs again."""
    scene = new_scene("gpualert_run")
    with worker(place.home, place.url):
        train_for_a_while([scene], retries=1, seconds=WHILE_S, ours={"grace": 3.0})
        kill_engine(scene)
        until(lambda: scene.records()[0].event("adopted"), "the adoption", START_S)
        assert place.observer.most[scene.mark] == 1
        kill_engine(scene)
        until(lambda: scene.records()[0].has(VERDICT), "the verdict on the training", START_S)
        until(lambda: scene.state() == "Crashed", "the worker to report the crash", START_S)
        assert scene.read_facts()["disposition"] == "cancelled"
    assert len(scene.engines()) == 2
    assert len(scene.records()) == 1


@pytest.mark.usefixtures("automations")
def test_killed_worker_costs_nothing(place: Place, new_scene: Callable[[str], Scene]) -> None:
    """After SIGKILL of its worker alone the engine continues, and nothing is run again; if the
    engine is killed, too, its heartbeats stop, and the next worker runs the flow run again."""
    alone, together = new_scene("gpualert_run"), new_scene("gpualert_run")
    with worker(place.home, place.url) as process:
        train_for_a_while([alone, together], retries=1, seconds=WHILE_S)
        end(process, group=False)
        kill_engine(together)
    with worker(place.home, place.url):
        assert_adopted(together, place)
        assert is_alive(alone.engines()[-1])
        alone.let_end()
        until(lambda: alone.ended() is not None, "the flow to end", START_S)
    assert len(alone.engines()) == 1
    assert len(alone.records()) == 1


def test_suspended_flow_run_has_not_crashed() -> None:
    """The automation for heartbeats expects the suspension of a flow run, which ends its engine."""
    crash = make_automations(DEFAULT_SILENT_S)[-1]
    assert isinstance(crash.trigger, EventTrigger)
    assert "prefect.flow-run.Suspended" in crash.trigger.expect
