"""A real training over three nodes, each under ``gpualert run``: its report, and its alerts.

The nodes share a directory, or a bucket that a fourth one has.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

from tests.job_store.s3_server import BUCKET, s3_server_on
from tests.nodes import Node, start_nodes
from tests.supervised import PROGRAM, PYTHON, Lab, until

TRAINING = Path(__file__).with_name("faulty_training.py")
JOB = "llama-7b"
DEADLINE_S = 120.0


class RealJob:
    """A training of two ranks on each node, each node under its own ``gpualert run``.

    ``server`` is the node with the bucket, ``variables`` are those of its clients.
    """

    def __init__(
        self,
        lab: Lab,
        nodes: list[Node],
        words: tuple[str, ...],
        server: Node | None = None,
        variables: Mapping[str, str] | None = None,
        training: Path = TRAINING,
    ) -> None:
        self.lab = lab
        self.nodes = nodes
        self.server = server
        self.directory = f"s3://{BUCKET}/team" if server else str(lab.home / "jobs")
        self._training = (str(training), *words)
        self._variables = dict(variables or {})
        self.supervisors = [self._start(i) for i in range(len(nodes))]

    def _start(self, index: int) -> subprocess.Popen[bytes]:
        launcher = (PYTHON, "-m", "torch.distributed.run", "--nnodes", str(len(self.nodes)))
        ranks = ("--nproc-per-node", "2", "--node-rank", str(index))
        master = ("--master-addr", self.nodes[0].address, "--master-port", "29511")
        training = (*launcher, *ranks, *master, *self._training)
        options = ("--job", JOB, "--job-dir", self.directory, "--grace", "1s")
        command = (*PROGRAM, "run", *options, "--notify", "mailbox", "--", *training)
        variables = {"GPUALERT_STATE_DIR": str(self.state(index)), "GPUALERT_OBSERVE": "true"}
        variables |= {"GLOO_SOCKET_IFNAME": "eth0", "PEER_TIMEOUT_S": "8", "OMP_NUM_THREADS": "1"}
        variables |= {"MASTER_NODE": self.nodes[0].name, "GPUALERT_NOTIFY": "mailbox"}
        with (self.lab.home / f"node{index}.out").open("wb") as output:
            return self.lab.start(
                self.nodes[index].command(*command),
                env={**self._environment(), **variables},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self.lab.environment(), **self._variables}

    def state(self, index: int) -> Path:
        """Return the state directory of a node."""
        return self.lab.home / f"state{index}"

    def wait(self) -> list[int]:
        """Return the exit statuses, once every supervisor has ended."""
        return [one.wait(timeout=DEADLINE_S) for one in self.supervisors]

    def report(self) -> dict[str, Any]:
        """Return the report of the job, as any node sees it, or the one with the bucket."""
        command = (*PROGRAM, "job", JOB, "--job-dir", self.directory, "--json")
        reader = self.server.command(*command) if self.server else command
        found = self.lab.call(reader, env=self._environment())
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
def start_job(
    lab: Lab, mode: str, rank: int = 0, steps: int = 40, *, place: str = "directory"
) -> Iterator[RealJob]:
    """Start a training on three nodes; everything of it is removed at the end.

    ``place`` is "directory", or "s3" for a bucket on a fourth node.
    """
    words = (mode, str(rank), str(steps))
    if place == "directory":
        with start_nodes(3) as nodes:
            yield RealJob(lab, nodes, words)
        return
    with start_nodes(4) as (*nodes, server), s3_server_on(server) as (variables, _process):
        yield RealJob(lab, nodes, words, server, variables)


def show(job: RealJob) -> str:
    """Return the outputs of all nodes, for a test that fails."""
    return "\n".join((job.lab.home / f"node{i}.out").read_text()[-2000:] for i in range(3))
