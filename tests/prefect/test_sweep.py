"""Two hundred trainings at once, each of which is published."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect_gpualert import gpualert_run, publishing

from tests.supervised import until

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("harness")]

TRAININGS = 200
MOST_S = 240.0
"""Above what two cores need to launch and end them, some 70 s."""


def test_sweep(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All trainings complete in bounded time, and all are published."""
    waited_s: list[float] = []
    wait = publishing.Publication.wait

    def timed(self: publishing.Publication, *arguments: Any) -> None:
        began = time.monotonic()
        wait(self, *arguments)
        waited_s.append(time.monotonic() - began)

    monkeypatch.setattr(publishing.Publication, "wait", timed)

    @flow(name="sweep")
    def sweep() -> list[str]:
        futures = gpualert_run.map([f"echo {seed}" for seed in range(TRAININGS)])
        return [str(value) for value in futures.result()]

    began = time.monotonic()
    assert sweep() == [str(seed) for seed in range(TRAININGS)]
    print(f"waited at most {max(waited_s):.1f} s, in the middle {median(waited_s):.1f} s")
    assert len(waited_s) == TRAININGS
    assert time.monotonic() - began < MOST_S

    def shown() -> bool:
        key = ArtifactFilterKey(like_="gpualert-sweep-gpualert-run%")
        with get_client(sync_client=True) as client:
            found = client.read_artifacts(artifact_filter=ArtifactFilter(key=key), limit=200)
        return len({artifact.key for artifact in found}) == TRAININGS

    until(shown, "every verdict to be shown", 60.0)
