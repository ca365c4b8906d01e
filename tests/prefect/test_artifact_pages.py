"""Tests of the artifacts of a training on the pages of a real Prefect server, in a browser."""

from __future__ import annotations

import contextvars
import shlex
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId
from prefect.client.schemas.objects import Artifact
from prefect.context import FlowRunContext
from prefect.exceptions import ObjectNotFound
from prefect.variables import Variable
from prefect_gpualert import api_posts, gpualert_run, publishing
from prefect_gpualert.report_link import VARIABLE

from tests.browser import WIDTHS, Browser, open_browser
from tests.faults.prefect.deployment import Place
from tests.prefect.artifact_pages import PrefectPages, read_percent
from tests.supervised import until

pytestmark = pytest.mark.e2e

START_S = 300.0
SCRIPT = "<img src=x onerror=window.ran=1><script>window.ran=1</script>"
MARKDOWN = "![p](http://192.0.2.1/p.png) [l](javascript:window.ran=1) `c` | \x1b[31mred\u202e"
HOSTILE = f"{SCRIPT} {MARKDOWN}"
FLOW = "![nightly](javascript:window.ran=1)"
KEY = "gpualert-nightly-javascript-window-ran-1-train"

TRAINING = """
import os, sys, time
folder, hostile = sys.argv[1:]

def wait_for(name):
    until = time.time() + 120
    while not os.path.exists(os.path.join(folder, name)) and time.time() < until:
        time.sleep(0.05)

for step in range(1, 91):
    print(f"step {step}/100 loss {100 / step:.4f} {hostile}", flush=True)
    time.sleep(0.02)
    if step == 40:
        wait_for("second")
wait_for("end")
raise RuntimeError(f"CUDA out of memory. {hostile} Tried to allocate 91.60 GiB (GPU 0; 79.15 GiB "
                   "total capacity; 12.00 GiB already allocated; 60.00 GiB free)")
"""


class LiveFlow:
    """A flow run in a thread, with one training that goes on at a word of the test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._id: UUID | None = None
        state = folder / "state <img src=x onerror=window.ran=1>"
        line = shlex.join([sys.executable, "-c", TRAINING, str(folder), HOSTILE])
        train = gpualert_run.with_options(name="train", task_run_name=f"train {SCRIPT}")

        @flow(name=FLOW)
        def nightly() -> None:
            context = FlowRunContext.get()
            assert context is not None
            assert context.flow_run is not None
            self._id = context.flow_run.id
            train(line, state_dir=state, notify="none", return_state=True)

        context = contextvars.copy_context()  # with the address of the server
        self._thread = threading.Thread(target=context.run, args=(nightly,), daemon=True)
        self._thread.start()

    @property
    def id(self) -> UUID:
        """The id of the flow run."""
        return until(lambda: self._id, "the flow run to begin", START_S)

    def go_on(self, word: str) -> None:
        """Let the training continue to its next stop."""
        (self._folder / word).touch()

    def join(self) -> None:
        """Wait for the end of the flow run."""
        self._thread.join(START_S)
        assert not self._thread.is_alive()

    def artifacts(self) -> dict[str, Artifact]:
        """Return the artifacts of the flow run by the ends of their keys."""
        wanted = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[self.id]))
        with get_client(sync_client=True) as client:
            found = client.read_artifacts(artifact_filter=wanted, limit=50)
        return {str(one.key).removeprefix(KEY): one for one in found}

    def await_artifact(self, end: str) -> Artifact:
        """Return an artifact of the flow run once the server has it, and its task run.

        The server stores a task run from events, on a busy machine later than its artifacts; its
        own pages then have errors.
        """
        found = until(lambda: self.artifacts().get(end), f"the artifact {end!r}", START_S, 0.2)
        until(lambda: _has_task_run(found), "the task run in the server", START_S, 0.2)
        return found


def _has_task_run(artifact: Artifact) -> bool:
    assert artifact.task_run_id is not None
    with get_client(sync_client=True) as client:
        try:
            client.read_task_run(artifact.task_run_id)
        except ObjectNotFound:
            return False
    return True


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Open one browser for all tests."""
    with open_browser() as opened:
        yield opened


@pytest.fixture
def pages(browser: Browser, place: Place, monkeypatch: pytest.MonkeyPatch) -> PrefectPages:
    """Return the pages of the server; progress and timeline are posted often."""
    monkeypatch.setattr(publishing, "PROGRESS_S", 0.5)
    monkeypatch.setattr(publishing, "TIMELINE_S", 0.5)
    monkeypatch.setattr(publishing, "DEADLINE_S", START_S)  # on a busy machine
    monkeypatch.setattr(api_posts, "LEAST_DRAWN_S", 0.0)
    Variable.set(VARIABLE, "http://{host}:8765/runs/{run_id}", overwrite=True)
    return PrefectPages(browser, place.url)


def test_artifacts_of_a_training(pages: PrefectPages, tmp_path: Path) -> None:
    """While the training runs its progress moves and its losses are drawn; afterwards there are
    verdict, evidence, timeline and link.  Nothing of its names and its log is interpreted."""
    live = LiveFlow(tmp_path)

    # While it runs.
    progress, timeline = live.await_artifact("-progress"), live.await_artifact("-timeline")
    text = pages.open_flow_run(live.id, f"{KEY}-progress")
    assert "Running" in text
    pages.open_artifact(timeline, "In numbers")
    assert is_picture_shown(pages)
    until(lambda: live.artifacts()["-progress"].data == 40, "the progress to be posted", START_S)
    assert read_percent(pages.open_artifact(progress, "Progress: 40%")) == 40
    live.go_on("second")
    until(lambda: live.artifacts()["-progress"].data == 90, "the progress to move", START_S)
    pages.open_artifact(progress, "Progress: 90%")

    # Afterwards.
    live.go_on("end")
    live.join()
    found = live.artifacts()
    assert set(found) == {"", "-progress", "-timeline", "-evidence", "-report"}
    assert found["-progress"].id == progress.id
    expected = {
        "": "CUDA out of memory",
        "-evidence": "stderr.log:",
        "-timeline": "In numbers",
        "-progress": "Progress: 90%",
        "-report": "Open the report",
    }
    for end, words in expected.items():
        text = pages.open_artifact(found[end], words)
        assert "cuda_oom" in text or end in ("-timeline", "-report")
        assert is_picture_shown(pages) == (end == "-timeline")
        for width in WIDTHS if end == "-timeline" else ():
            pages.browser.resize(width)
            assert 250 < pages.measure_picture() < width
    link = pages.browser.evaluate(
        "return [...document.links].map(one => one.href).filter(one => one.includes(':8765/'))[0]"
    )
    run_id = str(link).rpartition("/runs/")[2]
    pages.open_artifact(found[""], run_id)
    pages.open_flow_run(live.id, f"{KEY}-evidence")
    check_harmless(pages)

    # The history of a key has the trainings of another flow run, too.
    for word in ("second", "end"):
        (tmp_path / word).touch()
    again = LiveFlow(tmp_path)
    again.join()
    for end in expected:
        history = pages.open_history(f"{KEY}{end}", str(found[end].id)[:8])
        assert str(again.artifacts()[end].id)[:8] in history
    check_harmless(pages)


def is_picture_shown(pages: PrefectPages) -> bool:
    """Return True if the page has one picture, which is a PNG in the page itself."""
    pictures = pages.list_pictures()
    assert all(source == "data:image/png;base64," for source, _width in pictures)
    return [width > 400 for _source, width in pictures] == [True]


def check_harmless(pages: PrefectPages) -> None:
    """Assert that no script of the log ran, and that no page asked for anything elsewhere."""
    assert pages.find_faults() == []
    assert pages.browser.evaluate("return window.ran") is None
