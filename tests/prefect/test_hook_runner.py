"""Hooks of flows whose engine is gone: Prefect's runner calls them, and only the disk helps."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from uuid import UUID

import pytest
from prefect.client.orchestration import get_client
from prefect.deployments import run_deployment
from prefect.flows import Flow
from prefect.states import Cancelling

from gpualert_common.notify.outbox import Outbox
from gpualert_common.record import Record
from gpualert_common.spec import message_id
from tests.prefect import matrix, stage
from tests.prefect.matrix import Place
from tests.prefect.stage import Scene, worker
from tests.supervised import until

pytestmark = pytest.mark.e2e

START_S = 120.0


@pytest.fixture(scope="module", autouse=True)
def running_worker(place: Place) -> Iterator[None]:
    """One worker for all of them, which can run the flow that has hooks."""
    flow = Flow.from_source(str(stage.FLOWS.parent), f"{stage.FLOWS.name}:hooked")
    flow.deploy("hooked", stage.POOL, print_next_steps=False, ignore_warnings=True)  # type: ignore[union-attr]
    with worker(place.home, place.url):
        yield


def kill(scene: Scene) -> None:
    """SIGKILL to the engine."""
    os.kill(scene.engines()[-1], signal.SIGKILL)


def terminate(scene: Scene) -> None:
    """SIGTERM to the engine."""
    os.kill(scene.engines()[-1], signal.SIGTERM)


def cancel(scene: Scene) -> None:
    """What the button in the UI does."""
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(UUID(scene.flow_run_id or ""), Cancelling(), force=True)


@pytest.mark.parametrize(
    ("do", "state"),
    [(kill, "Crashed"), (terminate, "Crashed"), (cancel, "Cancelled")],
    ids=["killed", "terminated", "cancelled"],
)
def test_flow_that_was_ended(do: Callable[[Scene], None], state: str, place: Place) -> None:
    """Its training is ended and told, once, by the hook."""
    runs = place.home / "xdg-state" / "gpualert" / "runs"
    before = set(runs.glob("*"))
    scene = Scene.new(place.home, "gpualert_run")
    parameters = {"mark": scene.mark, "directory": str(scene.directory)}
    name = scene.mark
    found = run_deployment(
        "hooked/hooked", parameters=parameters, timeout=0, flow_run_name=name, as_subflow=False
    )
    scene.flow_run_id = str(found.id)  # type: ignore[union-attr]
    try:
        until(lambda: place.observer.seen.get(scene.mark), "the training to start", START_S)
        do(scene)
        until(lambda: matrix.state_of(scene) == state, f"the flow to be {state}", START_S)
        (path,) = set(runs.glob("*")) - before
        record = Record.open(str(path))
        until(lambda: [e.state for e in Outbox(record).entries()] == ["sent"], "the hook to tell")
    finally:
        matrix.clear(scene)
    folder = runs.parent / "mailbox" / "new"
    mails = [message_from_bytes(p.read_bytes(), policy=policy.default) for p in folder.glob("*")]
    ids = [mail["Message-ID"] for mail in mails]
    assert ids.count(message_id(record.run_id)) == 1
