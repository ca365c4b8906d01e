"""A flow that is told to end while its task waits for an alert."""

from __future__ import annotations

import pytest

from gpualert_common.notify.outbox import Outbox
from gpualert_common.record import OUTCOME
from tests.alerts.faults import mail_process, mail_target
from tests.prefect import matrix
from tests.prefect.matrix import OURS, Place
from tests.prefect.stage import Scene
from tests.supervised import until

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("face", OURS)
def test_flow_ends_at_once(face: str, place: Place) -> None:
    """Nobody waits for the alert any more, which stays in the outbox; its training succeeded."""
    scene = Scene.new(place.home, face)
    try:
        with mail_process("silent") as port:
            ours = {"notify": mail_target(port), "notify_on": "always", "notify_deadline": 600}
            scene.start(place.home, place.url, seconds=1.0, ours=ours)
            until(scene.records, "the training to start", matrix.START_S)
            (record,) = scene.records()
            until(lambda: record.read_json(OUTCOME), "the task to wait for its alert")
            assert scene.process is not None
            scene.process.terminate()
            until(lambda: matrix.state_of(scene) == "Crashed", "the flow to end")
            scene.process.wait(matrix.MOST_S)
            (entry,) = Outbox(record).entries()
            assert entry.state == "pending"
            assert (record.read_json(OUTCOME) or {})["state"] == "success"
    finally:
        matrix.clear(scene)
