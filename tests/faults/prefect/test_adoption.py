"""Tests of the next attempt of a flow run after the death of its engine."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId
from prefect_gpualert.artifact_places import ArtifactKind

from tests.faults.prefect.deployment import Place, worker
from tests.faults.prefect.rows import OURS
from tests.faults.prefect.scene import START_S, Scene
from tests.supervised import until

pytestmark = pytest.mark.e2e

OTHER_ARTIFACTS = tuple(kind.value for kind in ArtifactKind if kind.value)
"""Ends of the keys of artifacts other than the verdict."""
WHILE_S = 600.0
"""Longer than any test takes: the tests end the trainings."""


@pytest.fixture(scope="module", autouse=True)
def running_worker(place: Place) -> Iterator[None]:
    """One worker for all of them."""
    with worker(place.home, place.url):
        yield


@pytest.fixture
def scenes(place: Place) -> Iterator[list[Scene]]:
    """A scene for each of our faces, ended with the test."""
    found = [Scene.new(place, face) for face in OURS]
    yield found
    for scene in found:
        scene.clear()


def begin(scenes: list[Scene], **parameters: object) -> None:
    """Run the scenes by the worker, and return when every training runs."""
    for scene in scenes:
        scene.deploy(**parameters)
    for scene in scenes:
        scene.begins()


def kill_engines(scenes: list[Scene]) -> None:
    """Send SIGKILL to every engine, and wait until the API has the crashes."""
    for scene in scenes:
        scene.signal_engine(signal.SIGKILL)
    until(
        lambda: all(scene.state() == "Crashed" for scene in scenes),
        "the worker to report the crash",
        START_S,
    )


def run_again(scenes: list[Scene], met: Callable[[Scene], object] = lambda _scene: True) -> None:
    """Run the same flow runs again, as an automation or a person would, to their end.

    Their trainings may end when ``met`` is true of every scene.
    """
    before = {scene.mark: len(scene.engines()) for scene in scenes}
    for scene in scenes:
        scene.run_again()

    def begun() -> bool:
        return all(len(s.engines()) > before[s.mark] and met(s) for s in scenes)

    until(begun, "the flows to be run again", START_S)
    for scene in scenes:
        scene.let_end()
    until(lambda: all(s.ended() is not None for s in scenes), "the flows to end", START_S)


def result_of(scene: Scene) -> str:
    """Return the result of the last run of the flow."""
    ended = scene.ended()
    assert ended is not None
    assert "returned" in ended, ended
    return str(ended["returned"])


def list_artifact_keys(scene: Scene) -> list[str]:
    """Return the keys of all artifacts of the flow run."""
    assert scene.flow_run_id is not None
    wanted = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[scene.flow_run_id]))
    with get_client(sync_client=True) as client:
        return [str(one.key) for one in client.read_artifacts(artifact_filter=wanted)]


def test_next_run_adopts_a_live_training(scenes: list[Scene], place: Place) -> None:
    """The next engine follows the first engine's training to its end and returns its result."""
    begin(scenes, seconds=WHILE_S, ours={"grace": 3.0, "adopt_within": WHILE_S})
    kill_engines(scenes)
    run_again(scenes, lambda scene: scene.records()[0].event("adopted"))
    for scene in scenes:
        (pid,) = place.observer.found[scene.mark]
        assert result_of(scene) == f"trained by {pid}"
        (record,) = scene.records()
        assert record.event("orphaned") is not None
        assert record.event("adopted") is not None
        assert scene.read_facts()["disposition"] == "completed"
        keys = list_artifact_keys(scene)
        verdicts = [key for key in keys if not key.endswith(OTHER_ARTIFACTS)]
        assert len(verdicts) == 1  # the second engine knows nothing of the first one's artifacts
        assert not verdicts[0].endswith("-2")


def test_unclaimed_result_is_claimed_once(scenes: list[Scene], place: Place) -> None:
    """The first run after the end takes the result; one more run of the flow trains again."""
    begin(scenes, seconds=WHILE_S, ours={"grace": 3.0, "adopt_within": WHILE_S})
    kill_engines(scenes)
    for scene in scenes:
        scene.let_end()
    until(
        lambda: all(scene.records()[0].state == "ended" for scene in scenes),
        "the trainings to end unseen",
    )
    run_again(scenes)
    for scene in scenes:
        (pid,) = place.observer.found[scene.mark]
        assert result_of(scene) == f"trained by {pid}"
    claimed = {scene.mark: result_of(scene) for scene in scenes}
    run_again(scenes)
    for scene in scenes:
        # The second training ends at once: the observer may have missed it.
        assert result_of(scene).startswith("trained by ")
        assert result_of(scene) != claimed[scene.mark]
        assert len(scene.records()) == 2
        assert place.observer.most[scene.mark] == 1


def test_without_adoption_it_waits_and_trains_again(scenes: list[Scene], place: Place) -> None:
    """A training without adoption is stopped; the next run waits for its end, then trains."""
    begin(scenes, how="deaf", seconds=WHILE_S, ours={"grace": 10.0})
    kill_engines(scenes)
    run_again(scenes, lambda scene: len(place.observer.found[scene.mark]) == 2)
    for scene in scenes:
        _, second = place.observer.found[scene.mark]
        assert result_of(scene) == f"trained by {second}"
        assert place.observer.most[scene.mark] == 1
        first = scene.records()[0].ending
        assert first is not None
        assert first.signal == signal.SIGTERM
        assert scene.read_facts()["disposition"] == "completed"
