"""Real trainings over three nodes: one alert each, which names the node and the rank at fault."""

from __future__ import annotations

import pytest

from tests.jobs.real_job import DEADLINE_S, show, start_job
from tests.supervised import Lab, until


@pytest.mark.parametrize(
    ("mode", "rank", "cause", "place"),
    [
        pytest.param("raise", 3, "file_not_found", "directory", marks=pytest.mark.e2e),
        pytest.param("raise", 3, "file_not_found", "s3", marks=pytest.mark.nightly),
        pytest.param("kill", 4, "killed_unknown", "directory", marks=pytest.mark.nightly),
        pytest.param("kill", 4, "killed_unknown", "s3", marks=pytest.mark.nightly),
        pytest.param("segfault", 1, "segfault", "directory", marks=pytest.mark.nightly),
        pytest.param("segfault", 1, "segfault", "s3", marks=pytest.mark.nightly),
        pytest.param("missing_module", 5, "missing_module", "directory", marks=pytest.mark.nightly),
        pytest.param("missing_module", 5, "missing_module", "s3", marks=pytest.mark.e2e),
    ],
)
def test_rank_fails_first(lab: Lab, mode: str, rank: int, cause: str, place: str) -> None:
    """One alert is sent, and it names the node, the rank and the cause of the first failure."""
    with start_job(lab, mode, rank, place=place) as job:
        assert set(job.wait()) == {1}, show(job)
        alerts = job.await_alerts()
        verdict = job.report()["verdict"]
    assert verdict["cause"] == cause
    assert verdict["host"] == f"node{rank // 2}"
    assert verdict["details"]["rank"] == rank
    assert len(alerts) == 1
    assert f"node{rank // 2}" in str(alerts[0]["subject"])


on_each_place = pytest.mark.parametrize(
    "place",
    [
        pytest.param("directory", marks=pytest.mark.e2e),
        pytest.param("s3", marks=pytest.mark.nightly),
    ],
)


@on_each_place
def test_same_failure_everywhere(lab: Lab, place: str) -> None:
    """A wrong environment on all nodes is one failure of the job, and no node is named."""
    with start_job(lab, "wrong_module", place=place) as job:
        job.wait()
        alerts = job.await_alerts()
        verdict = job.report()["verdict"]
    assert (verdict["cause"], verdict["attribution"]) == ("missing_module", "job")
    assert verdict["host"] is None
    assert len(alerts) == 1


@on_each_place
def test_rank_hangs(lab: Lab, place: str) -> None:
    """The only rank that does not report a time-out is named, though its node reports one, too.

    A launcher may stop a rank before it reports: then none is named.
    """
    with start_job(lab, "hang", 3, place=place) as job:
        job.wait()
        job.await_alerts()
        verdict = job.report()["verdict"]
    output = "".join((lab.home / f"node{index}.out").read_text() for index in range(3))
    reported = {rank for rank in range(6) if f"[rank{rank}]: Traceback" in output}
    assert verdict["cause"] == "collective", verdict
    if reported == {0, 1, 2, 4, 5}:
        assert "Rank 3 on node1 is the only one of 6 ranks" in verdict["headline"]
        assert (verdict["host"], verdict["details"]["rank"]) == ("node1", 3)
    else:
        assert verdict["details"]["rank"] is None, verdict


@on_each_place
def test_node_loses_power(lab: Lab, place: str) -> None:
    """A node that vanishes is named by the others, which only lost it."""
    with start_job(lab, "train", steps=4000, place=place) as job:
        until(lambda: b"step 20/" in (lab.home / "node0.out").read_bytes(), "steps", DEADLINE_S)
        job.nodes[2].lose_power()
        for one in job.supervisors[:2]:
            one.wait(timeout=DEADLINE_S)
        until(lambda: job.report()["is_settled"], "the silence of the node", DEADLINE_S)
        until(job.alerts, "an alert", DEADLINE_S)
        report, alerts = job.report(), job.alerts()
    assert report["verdict"]["cause"] == "node_failure"
    assert report["verdict"]["host"] == "node2"
    assert len(alerts) == 1
    assert "node2" in str(alerts[0]["subject"])
