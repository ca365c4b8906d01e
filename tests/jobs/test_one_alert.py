"""Real runs of one job: one alert, and each record says which node sent it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.record import Record
from gpualert_common.record.marks import UNDELIVERED, UNPUBLISHED
from tests.notify.alerting import body, entries
from tests.supervised import PROGRAM, PYTHON, Lab, until

LOST = "RuntimeError('[gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.1]:2')"
DEADLINE_S = 60.0
_OPEN_MARKS = (UNDELIVERED, UNPUBLISHED)


class RealNodes:
    """Nodes of one Slurm job on this machine, each with a state directory of its own."""

    def __init__(self, lab: Lab, nodes: int) -> None:
        self.lab = lab
        self.nodes = nodes
        self.directory = lab.home / "jobs"
        self.directory.mkdir(exist_ok=True)

    def variables(self, node: int) -> dict[str, str]:
        """Return the environment of a node."""
        place = {"SLURM_JOB_ID": "17", "SLURM_STEP_ID": "0", "SLURM_NODEID": str(node)}
        place |= dict.fromkeys(("SLURM_JOB_NUM_NODES", "SLURM_STEP_NUM_NODES"), str(self.nodes))
        ours = {"GPUALERT_STATE_DIR": str(self.state(node)), "GPUALERT_NOTIFY": "mailbox"}
        ours |= {"GPUALERT_JOB_DIR": str(self.directory), "GPUALERT_NOTIFY_DEADLINE": "60s"}
        plain = {name: value for name, value in os.environ.items() if "SLURM" not in name}
        return {**plain, **self.lab.environment(), **place, **ours}

    def start(
        self, node: int, code: str, *options: str, **variables: str
    ) -> subprocess.Popen[bytes]:
        """Start the run of a node: a Python program."""
        return self.lab.start(
            (*PROGRAM, "run", *options, "--", PYTHON, "-c", code),
            env={**self.variables(node), **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def state(self, node: int) -> Path:
        """Return the state directory of a node."""
        return self.lab.home / f"state{node}"

    def record(self, node: int) -> Record:
        """Return the record of the run of a node."""
        (path,) = (self.state(node) / "runs").iterdir()
        return Record.open(str(path))

    def mails(self) -> list[EmailMessage]:
        """Return the mails of all nodes."""
        found = [one for i in range(self.nodes) for one in self.state(i).glob("mailbox/new/*")]
        return [message_from_bytes(one.read_bytes(), policy=policy.default) for one in found]

    def await_settled(self) -> None:
        """Wait until no node has an alert to send, or a digest to publish."""

        def is_settled() -> bool:
            states = [str(self.state(node)) for node in range(self.nodes)]
            marks = [one.list_records(state) for state in states for one in _OPEN_MARKS]
            return not any(marks)

        until(is_settled, "the nodes to agree", DEADLINE_S)

    def digest(self, node: int) -> dict[str, Any]:
        """Return the digest of a node in the job directory."""
        (path,) = self.directory.glob(f"*/digests/{self.record(node).run_id}.json")
        found: dict[str, Any] = json.loads(path.read_bytes())
        return found

    def claims(self) -> list[str]:
        """Return the names of the claims."""
        return sorted(one.name for one in self.directory.glob("*/alerts/*.json"))

    def kill_sender(self, node: int) -> None:
        """Kill the sender of a node, and all processes that it started."""
        mark = f"GPUALERT_STATE_DIR={self.state(node)}".encode()
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                is_sender = b"notify.sender" in Path(f"/proc/{name}/cmdline").read_bytes()
                if is_sender and mark in Path(f"/proc/{name}/environ").read_bytes():
                    os.kill(int(name), signal.SIGKILL)
            except OSError:
                continue


def test_all_fail_at_once(lab: Lab) -> None:
    """Nodes that fail at the same moment send one alert; the records of the others say by whom."""
    job = RealNodes(lab, 3)
    for one in [job.start(node, "raise ValueError('bad value')") for node in range(3)]:
        assert one.wait(DEADLINE_S) == 1
    job.await_settled()
    (mail,) = job.mails()
    assert "ValueError" in body(mail)
    assert "Nodes: 3" in body(mail)
    states = sorted(entry.state for node in range(3) for entry in entries(job.record(node)))
    assert states == ["sent", "superseded", "superseded"]
    reasons = [one.fields.get("because", "") for i in range(3) for one in entries(job.record(i))]
    assert sum("the alert of the job was sent by" in one for one in reasons) == 2
    listed = lab.gpualert("outbox", "list", "--all", "--state-dir", str(job.state(0)))
    assert b"of the job was sent by" in listed.stdout or b"sent: in" in listed.stdout
    assert job.claims() == ["1-1.json"]


def test_one_fails_first(lab: Lab) -> None:
    """The alert names the node that failed first, also if another node sends it."""
    job = RealNodes(lab, 3)
    failed = lab.home / "failed"
    wait = f"import os, time\nwhile not os.path.exists({str(failed)!r}): time.sleep(0.05)\n"
    lost = [job.start(node, f"{wait}raise {LOST}") for node in (0, 2)]
    culprit = f"open({str(failed)!r}, 'w').close()\n1 / 0"
    for one in (*lost, job.start(1, culprit)):
        one.wait(DEADLINE_S)
    job.await_settled()
    (mail,) = job.mails()
    assert "div_zero" in str(mail["Subject"])
    assert "collective" in body(mail)


def test_end_without_an_alert(lab: Lab) -> None:
    """A run that ends well publishes its last digest, and claims nothing."""
    job = RealNodes(lab, 1)
    assert job.start(0, "print('step 1 loss 2.0')").wait(DEADLINE_S) == 0
    job.await_settled()
    assert job.digest(0)["state"] == "ended"
    assert not job.claims()
    assert not job.mails()


def test_run_without_channels(lab: Lab) -> None:
    """A run that notifies nobody publishes its last digest, too."""
    job = RealNodes(lab, 1)
    job.start(0, "raise SystemExit(3)", GPUALERT_NOTIFY="none").wait(DEADLINE_S)
    until(lambda: not UNPUBLISHED.list_records(str(job.state(0))), "the digest", DEADLINE_S)
    assert job.digest(0)["verdict"]["exit_code"] == 3
    assert not job.claims()


def test_alert_of_a_job_that_ends_well(lab: Lab) -> None:
    """With notify_on = always, a job that ends well sends one alert."""
    job = RealNodes(lab, 2)
    for one in [job.start(i, "print(1)", "--notify-on", "always") for i in range(2)]:
        assert one.wait(DEADLINE_S) == 0
    job.await_settled()
    assert len(job.mails()) == 1


@pytest.mark.parametrize("moment", ["claim", "agreement"])
def test_sender_is_killed(lab: Lab, moment: str) -> None:
    """After the death of its sender at any step, ``gpualert recover`` sends the one alert."""
    job = RealNodes(lab, 2)  # the other node never reports, so that the owner waits for it
    run = job.start(0, "raise ValueError('bad value')")
    until((job.state(0) / "runs").exists, "the record", DEADLINE_S)
    if moment == "claim":
        until(job.claims, "the claim", DEADLINE_S)
    else:
        until(lambda: job.record(0).has("job.json"), "a part in the job", DEADLINE_S)
    job.kill_sender(0)
    assert run.wait(DEADLINE_S) == 1
    assert not job.mails()
    assert UNDELIVERED.list_records(str(job.state(0)))
    other = job.start(1, "raise ValueError('bad value')")
    done = lab.gpualert("recover", "--state-dir", str(job.state(0)), env=job.variables(0))
    assert done.returncode == 0, done.stderr
    other.wait(DEADLINE_S)
    job.await_settled()
    assert len(job.mails()) == 1


def test_place_that_ends_the_sender(lab: Lab) -> None:
    """The alert goes out before a scheduler ends the sender with the run, as far as it is known."""
    job = RealNodes(lab, 2)
    run = job.start(0, "raise ValueError('bad value')", "--notify-deadline", "8s")
    assert run.wait(DEADLINE_S) == 1
    assert len(job.mails()) == 1


@pytest.mark.e2e
def test_owner_is_killed(lab: Lab) -> None:
    """After the death of the owner of the claim, another node sends the alert."""
    job = RealNodes(lab, 3)
    owner = job.start(0, "raise ValueError('bad value')")
    until(job.claims, "the claim", DEADLINE_S)
    job.kill_sender(0)
    owner.wait(DEADLINE_S)
    job.start(1, "raise ValueError('bad value')").wait(DEADLINE_S)
    until(job.mails, "the alert of another node", 2 * DEADLINE_S)
    assert job.claims() == ["1-1-2.json", "1-1.json"]
    assert len(job.mails()) == 1
    done = lab.gpualert("recover", "--state-dir", str(job.state(0)), env=job.variables(0))
    assert done.returncode == 0, done.stderr
    job.await_settled()
    assert len(job.mails()) == 1
