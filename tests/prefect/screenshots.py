"""Screenshots of a flow run in Prefect, made by a real server and a real browser.

``python -m tests.prefect.screenshots docs/images`` writes the pictures of the documentation, with
``--widths`` also as a telephone and a monitor show them.  It needs the environment of Prefect, and
two minutes.
"""

from __future__ import annotations

import argparse
import contextvars
import os
import shlex
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId
from prefect.client.schemas.objects import Artifact
from prefect.context import FlowRunContext
from prefect.futures import PrefectFuture
from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings
from prefect.variables import Variable
from prefect_gpualert import gpualert_run, publishing
from prefect_gpualert.report_link import VARIABLE

from tests.browser import WIDTHS, Browser, open_browser
from tests.faults.prefect.deployment import ROOT, server
from tests.prefect.artifact_pages import PrefectPages
from tests.supervised import until

LONGEST_S = 180.0
RATES = (0.05, 2.0)
"""The training with the second rate ends with a loss that is not finite."""
KEY = "gpualert-nightly-train"


class Nightly:
    """A flow run of two trainings, in a thread."""

    def __init__(self, home: Path) -> None:
        self._ids: list[UUID] = []
        shutil.copy(ROOT / "examples" / "train_numpy.py", home / "train.py")
        arguments = ["--epochs", "90", "--epoch-seconds", "0.7", "--save-every", "10"]

        def submit(rate: float) -> PrefectFuture[Any]:
            train = gpualert_run.with_options(name="train", task_run_name=f"train-lr-{rate:g}")
            checkpoint = str(home / f"rate-{rate}.npz")
            line = ["python", "train.py", "--lr", str(rate), "--checkpoint", checkpoint]
            future: PrefectFuture[Any] = train.submit(
                shlex.join([*line, *arguments]),
                cwd=home,
                state_dir=home / "state",
                notify="none",
            )
            return future

        @flow
        def nightly() -> None:
            context = FlowRunContext.get()
            assert context is not None
            assert context.flow_run is not None
            self._ids.append(context.flow_run.id)
            for future in [submit(rate) for rate in RATES]:
                future.wait()

        context = contextvars.copy_context()  # with the address of the server
        self._thread = threading.Thread(target=context.run, args=(nightly,))
        self._thread.start()

    @property
    def id(self) -> UUID:
        """The id of the flow run."""
        return until(lambda: self._ids, "the flow run to begin", LONGEST_S)[0]

    def join(self) -> None:
        """Wait for the end of the flow run."""
        self._thread.join()

    def artifacts(self) -> dict[str, Artifact]:
        """Return the artifacts of the flow run by their keys."""
        wanted = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[self.id]))
        with get_client(sync_client=True) as client:
            found = client.read_artifacts(artifact_filter=wanted, limit=50)
        return {str(one.key): one for one in found}


def main() -> int:
    """Write the pictures; return 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--widths", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nightly-") as directory:
        home = Path(directory)
        os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        with server(home / "server") as (url, _process):
            settings = {PREFECT_API_URL: url, PREFECT_HOME: str(home / "prefect")}
            with temporary_settings(settings), open_browser() as browser:
                Variable.set(VARIABLE, "http://{host}:8765/runs/{run_id}/report")
                publishing.TIMELINE_S = 10.0
                publishing.DEADLINE_S = LONGEST_S
                camera = Camera(browser, given.folder, WIDTHS if given.widths else ())
                take_pictures(Nightly(home), PrefectPages(browser, url), camera)
    return 0


class Camera:
    """Takes pictures of the page as it is, at the width of a notebook and at others."""

    def __init__(self, browser: Browser, folder: Path, widths: tuple[int, ...]) -> None:
        self._browser = browser
        self._folder = folder
        self._widths = widths

    def shoot(self, pages: PrefectPages, name: str) -> None:
        """Write the picture of that name, and those at other widths."""
        pages.await_layout()
        self._browser.take_screenshot(self._folder / f"{name}.png", whole=False)
        for width in self._widths:
            self._browser.resize(width)
            pages.await_layout()
            self._browser.take_screenshot(self._folder / f"{name}-{width}.png", whole=False)
        self._browser.resize(1280)


def take_pictures(nightly: Nightly, pages: PrefectPages, camera: Camera) -> None:
    """Take pictures of the flow run while it runs, and of its artifacts afterwards."""
    good, bad = KEY, f"{KEY}-2"
    until(lambda: percent_of(nightly, good) >= 20, "a fifth of the training", LONGEST_S, 0.2)
    wanted = {f"{bad}-evidence", f"{good}-timeline"}
    until(lambda: wanted <= set(nightly.artifacts()), "evidence and timeline", LONGEST_S, 0.2)
    pages.open_flow_run(nightly.id, f"{bad}-evidence")
    camera.shoot(pages, "prefect-flow-run")
    nightly.join()
    found = nightly.artifacts()
    pages.open_artifact(found[bad], "Cannot decide")
    camera.shoot(pages, "prefect-verdict")
    pages.open_artifact(found[f"{bad}-evidence"], "excerpt")
    camera.shoot(pages, "prefect-evidence")
    pages.open_artifact(found[f"{good}-timeline"], "In numbers")
    camera.shoot(pages, "prefect-timeline")
    pages.open("events", "gpualert.verdict")
    pages.scroll_to("gpualert.verdict")
    camera.shoot(pages, "prefect-events")


def percent_of(nightly: Nightly, key: str) -> float:
    """Return the progress of a training as Prefect has it."""
    progress = nightly.artifacts().get(f"{key}-progress")
    return float(str(progress.data)) if progress is not None else 0.0


if __name__ == "__main__":
    sys.exit(main())
