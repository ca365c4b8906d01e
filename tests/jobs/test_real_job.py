"""Real trainings over three nodes: one alert each, which names the node and the rank at fault."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from tests.nodes import Node, start_nodes
from tests.supervised import PROGRAM, PYTHON, Lab, until

TRAINING = Path(__file__).with_name("faulty_training.py")
JOB = "llama-7b"
DEADLINE_S = 120.0


class RealJob:
    """A training of two ranks on each node, each node under its own ``gpualert run``."""

    def __init__(
        self,
        lab: Lab,
        nodes: list[Node],
        mode: str,
        rank: int,
        end: int | Path,
        training: Path = TRAINING,
    ) -> None:
        self.lab = lab
        self.nodes = nodes
        self.directory = lab.home / "jobs"
        self._training = (str(training), mode, str(rank), str(end))
        self.supervisors = [self._start(i) for i in range(len(nodes))]

    def _start(self, index: int) -> subprocess.Popen[bytes]:
        launcher = (PYTHON, "-m", "torch.distributed.run", "--nnodes", str(len(self.nodes)))
        ranks = ("--nproc-per-node", "2", "--node-rank", str(index))
        master = ("--master-addr", self.nodes[0].address, "--master-port", "29511")
        training = (*launcher, *ranks, *master, *self._training)
        options = ("--job", JOB, "--job-dir", str(self.directory), "--grace", "1s")
        command = (*PROGRAM, "run", *options, "--notify", "mailbox", "--", *training)
        variables = {"GPUALERT_STATE_DIR": str(self.state(index)), "GPUALERT_OBSERVE": "true"}
        variables |= {"GLOO_SOCKET_IFNAME": "eth0", "PEER_TIMEOUT_S": "8", "OMP_NUM_THREADS": "1"}
        variables |= {"MASTER_NODE": self.nodes[0].name, "GPUALERT_NOTIFY": "mailbox"}
        with (self.lab.home / f"node{index}.out").open("wb") as output:
            return self.lab.start(
                self.nodes[index].command(*command),
                env={**os.environ, **self.lab.environment(), **variables},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def state(self, index: int) -> Path:
        """Return the state directory of a node."""
        return self.lab.home / f"state{index}"

    def wait(self) -> list[int]:
        """Return the exit statuses, once every supervisor has ended."""
        return [one.wait(timeout=DEADLINE_S) for one in self.supervisors]

    def report(self) -> dict[str, Any]:
        """Return the report of the job, as any node sees it."""
        command = (*PROGRAM, "job", JOB, "--job-dir", str(self.directory), "--json")
        found = self.lab.call(command)
        assert found.returncode in (0, 1), found.stderr.decode()
        report: dict[str, Any] = json.loads(found.stdout)
        return report

    def alerts(self) -> list[Message]:
        """Return the alerts in the mailboxes of all nodes."""
        states = (self.state(index) for index in range(len(self.nodes)))
        files = (one for state in states for one in state.glob("mailbox/new/*"))
        return [message_from_bytes(one.read_bytes()) for one in files]

    def await_alerts(self) -> list[Message]:
        """Return the alerts, once each node has sent its own or knows which node sends it."""

        def are_decided() -> bool:
            return all(self._is_decided(index) for index in range(len(self.nodes)))

        until(are_decided, "each node to know who sends the alert", DEADLINE_S)
        return self.alerts()

    def _is_decided(self, index: int) -> bool:
        undelivered = self.state(index) / "undelivered"
        return not undelivered.exists() or not list(undelivered.iterdir())


@contextmanager
def start_job(lab: Lab, mode: str, rank: int = 0, steps: int = 40) -> Iterator[RealJob]:
    """Start a training on three nodes; everything of it is removed at the end."""
    with start_nodes(3) as nodes:
        yield RealJob(lab, nodes, mode, rank, steps)


def show(job: RealJob) -> str:
    """Return the outputs of all nodes, for a test that fails."""
    return "\n".join((job.lab.home / f"node{i}.out").read_text()[-2000:] for i in range(3))


@pytest.mark.parametrize(
    ("mode", "rank", "cause"),
    [
        pytest.param("raise", 3, "file_not_found", marks=pytest.mark.e2e),
        pytest.param("kill", 4, "killed_unknown", marks=pytest.mark.nightly),
        pytest.param("segfault", 1, "segfault", marks=pytest.mark.nightly),
        pytest.param("missing_module", 5, "missing_module", marks=pytest.mark.e2e),
    ],
)
def test_rank_fails_first(lab: Lab, mode: str, rank: int, cause: str) -> None:
    """One alert is sent, and it names the node, the rank and the cause of the first failure."""
    with start_job(lab, mode, rank) as job:
        assert set(job.wait()) == {1}, show(job)
        alerts = job.await_alerts()
        verdict = job.report()["verdict"]
    assert verdict["cause"] == cause
    assert verdict["host"] == f"node{rank // 2}"
    assert verdict["details"]["rank"] == rank
    assert len(alerts) == 1
    assert f"node{rank // 2}" in str(alerts[0]["subject"])


@pytest.mark.e2e
def test_same_failure_everywhere(lab: Lab) -> None:
    """A wrong environment on all nodes is one failure of the job, and no node is named."""
    with start_job(lab, "wrong_module") as job:
        job.wait()
        alerts = job.await_alerts()
        verdict = job.report()["verdict"]
    assert (verdict["cause"], verdict["attribution"]) == ("missing_module", "job")
    assert verdict["host"] is None
    assert len(alerts) == 1


@pytest.mark.e2e
def test_rank_hangs(lab: Lab) -> None:
    """The only rank that does not report a time-out is named, though its node reports one, too.

    A launcher may stop a rank before it reports: then none is named.
    """
    with start_job(lab, "hang", 3) as job:
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


@pytest.mark.e2e
def test_node_loses_power(lab: Lab) -> None:
    """A node that vanishes is named by the others, which only lost it."""
    with start_job(lab, "train", steps=4000) as job:
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
