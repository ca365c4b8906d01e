"""Tests of hooks that Prefect's runner calls after the death of the engine."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy

import pytest

from gpualert_common.notify.outbox import Outbox
from gpualert_common.record import Record
from gpualert_common.spec import message_id
from tests.faults.prefect.deployment import FLOWS, Place, deploy, worker
from tests.faults.prefect.scene import START_S, Scene
from tests.supervised import until

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module", autouse=True)
def running_worker(place: Place) -> Iterator[None]:
    """Start one worker for all tests, which can run the flow with hooks."""
    deploy(FLOWS, "hooked")
    with worker(place.home, place.url):
        yield


def kill(scene: Scene) -> None:
    """Send SIGKILL to the engine."""
    scene.signal_engine(signal.SIGKILL)


def terminate(scene: Scene) -> None:
    """Send SIGTERM to the engine."""
    scene.signal_engine(signal.SIGTERM)


@pytest.mark.parametrize(
    ("do", "state"),
    [(kill, "Crashed"), (terminate, "Crashed"), (Scene.cancel, "Cancelled")],
    ids=["killed", "terminated", "cancelled"],
)
def test_flow_that_was_ended(do: Callable[[Scene], None], state: str, place: Place) -> None:
    """The training is stopped, and the hook sends one alert."""
    runs = place.home / "xdg-state" / "gpualert" / "runs"
    before = set(runs.glob("*"))
    scene = Scene.new(place, "gpualert_run")
    try:
        scene.deploy_flow("hooked", mark=scene.mark, directory=str(scene.directory))
        scene.begins()
        do(scene)
        until(lambda: scene.state() == state, f"the flow to be {state}", START_S)
        (path,) = set(runs.glob("*")) - before
        record = Record.open(str(path))
        until(lambda: [e.state for e in Outbox(record).entries()] == ["sent"], "the hook to send")
    finally:
        scene.clear()
    folder = runs.parent / "mailbox" / "new"
    mails = [message_from_bytes(p.read_bytes(), policy=policy.default) for p in folder.glob("*")]
    ids = [mail["Message-ID"] for mail in mails]
    assert ids.count(message_id(record.run_id)) == 1
