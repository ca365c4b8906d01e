"""Test of a flow that is stopped while its task waits for an alert."""

from __future__ import annotations

import pytest

from gpualert_common.record import OUTCOME
from tests.faults.prefect.deployment import Place
from tests.faults.prefect.rows import OURS
from tests.faults.prefect.scene import MOST_S, START_S, Scene
from tests.notify.alerting import queued
from tests.notify.faults import end_senders, mail_process, mail_target
from tests.supervised import until

pytestmark = pytest.mark.e2e


def terminate(scene: Scene) -> None:
    """End the flow, and return when it has ended.

    The signal is repeated until it has an effect: now and then a main thread that waits for the
    thread of a task sleeps through the first one.
    """
    flow = scene.process
    assert flow is not None

    def over() -> bool:
        flow.terminate()
        return scene.state() == "Crashed"

    until(over, "the flow to end", poll_s=3.0)
    flow.wait(MOST_S)


@pytest.mark.parametrize("face", OURS)
def test_flow_ends_at_once(face: str, place: Place) -> None:
    """The task no longer waits for the alert, which stays in the outbox; the training succeeded."""
    scene = Scene.new(place, face)
    try:
        with mail_process("silent") as port:
            ours = {"notify": mail_target(port), "notify_on": "always", "notify_deadline": 600}
            scene.start(seconds=1.0, ours=ours)
            until(scene.records, "the training to start", START_S)
            (record,) = scene.records()
            until(lambda: record.read_json(OUTCOME), "the task to wait for its alert")
            terminate(scene)
            (entry,) = queued(record)
            assert entry.state == "pending"
            assert (record.read_json(OUTCOME) or {})["state"] == "success"
    finally:
        scene.clear()
        end_senders(place.home)
