"""Jobs on three nodes of which processes of ours, or machines, are killed at chosen moments."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from gpualert_common.record import EXIT, Record
from gpualert_common.record.marks import UNDELIVERED, UNFINISHED, UNPUBLISHED
from tests.nodes import Node, start_nodes
from tests.supervised import PROGRAM, PYTHON, Lab, is_alive, until

TRAINING = Path(__file__).with_name("socket_training.py")
JOB = "llama-7b"
NODES, ROOT, OTHER = 3, 1, 2
DEADLINE_S = 90.0
FAULT_S = 4.0
"""Age of a job at which its training fails, if the moment of a death is random."""
AGREEMENT_S = 240.0
"""Longer than the lease of a claim that is about to be sent."""
_MARKS = (UNDELIVERED, UNFINISHED, UNPUBLISHED)


class Role(StrEnum):
    """A process of ours on a node."""

    SUPERVISOR = "supervisor"
    RECORDER = "recorder"
    RENEWAL = "renewal"
    SENDER = "sender"
    ALL = "all"
    """All processes of ours; the training goes on."""
    MACHINE = "machine"
    """The machine, with the training: its power is lost."""


class Victim(StrEnum):
    """The nodes on which a process is killed."""

    ROOT = "root"
    OTHER = "other"
    OWNER = "owner"
    EVERY = "every"


class Moment(StrEnum):
    """The moment of a death."""

    LAUNCH = "launch"
    """After the launch, before the first digest."""
    TRAINING = "training"
    EXIT = "exit"
    """The training of the node has ended, and its supervisor has not seen that."""
    RECORDED = "recorded"
    """The end is recorded; the job directory does not have it yet."""
    CLAIM = "claim"
    """The alert is claimed, and not sent."""
    SENT = "sent"
    """The claim says that the alert is sent."""


@dataclass(frozen=True)
class Death:
    """The death of a process on some nodes; ``after_s`` is the moment of one at random."""

    role: Role
    victim: Victim
    moment: Moment | None = None
    after_s: float = 0.0


@dataclass
class DeathOutcome:
    """The alerts of a job with a death: before and after ``gpualert recover`` on each node."""

    death: Death
    before: list[EmailMessage]
    after: list[EmailMessage]
    report: dict[str, Any]
    seconds: float = 0.0
    note: str = ""

    @property
    def messages(self) -> set[str]:
        """The Message-IDs of all alerts: a copy has that of its original."""
        return {str(mail["Message-ID"]) for mail in self.after}

    @property
    def corrections(self) -> int:
        """Number of alerts that only correct the cause which an earlier one named."""
        return sum("corrected" in str(mail["Subject"]) for mail in self.after)

    def __str__(self) -> str:
        death, verdict = self.death, self.report.get("verdict", {})
        moment = death.moment or f"{death.after_s:.2f} s"
        subjects = [" ".join(str(mail["Subject"]).split()) for mail in self.after]
        return (
            f"{death.role} of {death.victim} at {moment}: {len(self.before)} alerts, "
            f"{len(self.after)} after recover, {len(self.messages)} different, "
            f"{self.corrections} corrections; {verdict.get('cause')} on {verdict.get('host')}: "
            f"{verdict.get('headline')}; {self.seconds:.0f} s {self.note} {subjects}"
        )


class KilledJob:
    """A job of three nodes, each with a state directory of its own, whose second node fails."""

    def __init__(self, lab: Lab, nodes: list[Node]) -> None:
        self.lab = lab
        self.nodes = nodes
        self.directory = lab.home / "jobs"
        self.directory.mkdir()
        self.dead: set[int] = set()
        self._launcher = lab.home / "torchrun"  # this name gives the run its place in the job
        self._launcher.symlink_to(TRAINING)
        self._fault = lab.home / "fault"
        self.began = time.monotonic()
        self.supervisors = [self._start(index) for index in range(len(nodes))]

    def environment(self, index: int) -> Mapping[str, str]:
        """Return the environment of a node."""
        ours = {"GPUALERT_STATE_DIR": str(self.state(index)), "GPUALERT_NOTIFY": "mailbox"}
        ours |= {"PET_NNODES": str(len(self.nodes)), "PET_NODE_RANK": str(index)}
        ours |= {"GPUALERT_JOB_DIR": str(self.directory), "GPUALERT_NOTIFY_DEADLINE": "2s"}
        plain = {name: value for name, value in os.environ.items() if "SLURM" not in name}
        return {**plain, **self.lab.environment(), **ours}

    def _start(self, index: int) -> subprocess.Popen[bytes]:
        addresses = ",".join(node.address for node in self.nodes)
        arguments = (str(index), addresses, str(ROOT), str(self._fault))
        training = (PYTHON, str(self._launcher), *arguments)
        command = (*PROGRAM, "run", "--job", JOB, "--", *training)
        with (self.lab.home / f"node{index}.out").open("wb") as output:
            return self.lab.start(
                self.nodes[index].command(*command),
                env=self.environment(index),
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def call(self, index: int, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """Return a command of gpualert that has ended on a node."""
        command = self.nodes[index].command(*PROGRAM, *arguments)
        return self.lab.call(command, env=self.environment(index), timeout=DEADLINE_S)

    # -- what the nodes have ---------------------------------------------------------------

    def state(self, index: int) -> Path:
        """Return the state directory of a node."""
        return self.lab.home / f"state{index}"

    def record(self, index: int) -> Record | None:
        """Return the record of the run of a node, once it has one."""
        found = sorted((self.state(index) / "runs").glob("[!.]*"))
        return Record.open(str(found[0])) if found else None

    def digest(self, index: int) -> dict[str, Any] | None:
        """Return the digest of a node in the job directory, if it is whole."""
        record = self.record(index)
        for path in self.directory.glob(f"*/digests/{record.run_id if record else '-'}.json"):
            found: dict[str, Any] = json.loads(path.read_bytes())
            return found
        return None

    def claim(self) -> dict[str, Any] | None:
        """Return the last claim of the first alert."""
        claims = sorted(self.directory.glob("*/alerts/1-1*.json"), key=lambda one: len(one.name))
        if not claims:
            return None
        found: dict[str, Any] = json.loads(claims[-1].read_bytes())
        return found

    def mails(self) -> list[EmailMessage]:
        """Return the alerts of all nodes."""
        files = [one for i in range(len(self.nodes)) for one in self.state(i).glob("mailbox/new/*")]
        return [message_from_bytes(one.read_bytes(), policy=policy.default) for one in files]

    def has_open_marks(self, index: int) -> bool:
        """True while a node has a run to complete, an alert to send, or a digest to publish."""
        return any(one.list_records(str(self.state(index))) for one in _MARKS)

    # -- deaths ----------------------------------------------------------------------------

    def find(self, index: int, role: Role) -> list[int]:
        """Return the processes of ours on a node, in that role."""
        found = {pid: _role_of(pid) for pid in self._list_processes(index)}
        return [pid for pid, own in found.items() if own and role in (Role.ALL, own)]

    def _list_processes(self, index: int) -> Iterator[int]:
        """Yield the processes of a node, as this machine counts them."""
        mark = f"GPUALERT_STATE_DIR={self.state(index)}".encode()
        for name in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError):
                if mark in Path(f"/proc/{name}/environ").read_bytes():
                    yield int(name)

    def victims(self, victim: Victim) -> list[int]:
        """Return the nodes of a death."""
        match victim:
            case Victim.ROOT:
                return [ROOT]
            case Victim.OTHER:
                return [OTHER]
            case Victim.EVERY:
                return list(range(len(self.nodes)))
            case Victim.OWNER:
                claim = until(self.claim, "the claim", DEADLINE_S)
                return [int(str(claim["claimed_by"]).removeprefix("node"))]

    def fail(self) -> None:
        """Have the training fail on one node."""
        self._fault.touch()

    def kill(self, death: Death) -> bool:
        """Kill at the moment of this death; False if there was nothing to kill then."""
        if death.moment is None:
            early_s = min(death.after_s, FAULT_S)
            self._wait_until(early_s)
            if death.after_s > FAULT_S:
                self.fail()
                self._wait_until(death.after_s)
            return self._kill_on(self._victims_now(death.victim), death.role)
        if death.moment not in (Moment.LAUNCH, Moment.TRAINING, Moment.EXIT):
            self._await_training()
            self.fail()
        victims = self.victims(death.victim)
        self._await_moment(death.moment, victims)
        return self._kill_on(victims, death.role)

    def _wait_until(self, age_s: float) -> None:
        time.sleep(max(0.0, self.began + age_s - time.monotonic()))

    def _victims_now(self, victim: Victim) -> list[int]:
        """Return the nodes of a death at a random moment, also if no node owns a claim then."""
        is_owned = victim is not Victim.OWNER or self.claim() is not None
        return self.victims(victim if is_owned else Victim.ROOT)

    def _kill_on(self, victims: list[int], role: Role) -> bool:
        """Kill on all of these nodes; False if there was nothing to kill."""
        if role is Role.MACHINE:
            for index in victims:
                self.nodes[index].lose_power()
            self.dead.update(victims)
            return True
        killed = [pid for index in victims for pid in self.find(index, role)]
        for pid in killed:
            _signal(pid, signal.SIGKILL)
        for index in victims:  # it stops together with the supervisor
            self.supervisors[index].send_signal(signal.SIGCONT)
        return bool(killed)

    def await_steps(self) -> None:
        """Wait until the training makes steps, or has failed, on a node that has power."""
        living = next(one for one in range(len(self.nodes)) if one not in self.dead)

        def has_begun() -> bool:
            logs = [one.read_bytes() for one in self.state(living).glob("runs/*/output.log")]
            return any(b"step 9/" in log or b"Error" in log for log in logs)

        until(has_begun, "steps", DEADLINE_S)

    def _await_training(self) -> None:
        self._await_nodes(self.digest, range(len(self.nodes)))

    def _await_moment(self, moment: Moment, victims: list[int]) -> None:
        first = victims[0]
        match moment:
            case Moment.LAUNCH:
                self._await_nodes(self._leader, victims)
            case Moment.TRAINING:
                self._await_training()
            case Moment.EXIT:
                self._await_training()
                leaders = [pid for pid in map(self._leader, victims) if pid is not None]
                for pid in (pid for one in victims for pid in self.find(one, Role.SUPERVISOR)):
                    _signal(pid, signal.SIGSTOP)
                self.fail()
                has_ended = lambda: not any(map(is_alive, leaders))  # noqa: E731
                until(has_ended, "the end of the training", DEADLINE_S)
            case Moment.RECORDED:
                until(lambda: self._has_exit(first), "the end", DEADLINE_S, poll_s=0.001)
            case Moment.CLAIM:
                until(self.claim, "the claim", DEADLINE_S, poll_s=0.001)
            case Moment.SENT:
                until(lambda: (self.claim() or {}).get("sent_at"), "the alert", AGREEMENT_S)

    def _leader(self, index: int) -> int | None:
        """Return the process of the training of a node."""
        is_training = lambda pid: _read_command(pid)[1:2] == [str(self._launcher)]  # noqa: E731
        return next(filter(is_training, self._list_processes(index)), None)

    def _await_nodes(self, probe: Callable[[int], object], indexes: Iterable[int]) -> None:
        for index in indexes:
            until(partial(probe, index), "each node", DEADLINE_S)

    def _has_exit(self, index: int) -> bool:
        record = self.record(index)
        return record is not None and record.has(EXIT)

    # -- the end ---------------------------------------------------------------------------

    def await_end(self) -> None:
        """Wait until the supervisors and trainings of all nodes have ended."""
        for one in self.supervisors:
            one.wait(DEADLINE_S)
        nodes = range(len(self.nodes))
        until(lambda: not any(map(self._leader, nodes)), "the trainings", DEADLINE_S)

    def await_agreement(self) -> None:
        """Wait until no process of ours is left, or nothing is left to do, on each node."""

        def is_over() -> bool:
            return all(self._is_idle(index) for index in range(len(self.nodes)))

        until(is_over, "the nodes to agree", AGREEMENT_S, poll_s=0.2)

    def _is_idle(self, index: int) -> bool:
        if index in self.dead:
            return True
        return not self.has_open_marks(index) or not self.find(index, Role.ALL)

    def recover(self) -> None:
        """Call ``gpualert recover`` on each node that has power, and wait until all is done."""
        living = [index for index in range(len(self.nodes)) if index not in self.dead]
        for index in living:
            done = self.call(index, "recover")
            assert done.returncode == 0, done.stderr.decode()
        are_done = lambda: not any(map(self.has_open_marks, living))  # noqa: E731
        until(are_done, "the nodes to recover", AGREEMENT_S, poll_s=0.2)

    def report(self) -> dict[str, Any]:
        """Return the report of the job, as a node with power sees it."""
        living = [index for index in range(len(self.nodes)) if index not in self.dead]
        if not living:
            return {}
        done = self.call(living[0], "job", JOB, "--json")
        assert done.stdout, done.stderr.decode()
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _read_command(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    except OSError:
        return []


def _role_of(pid: int) -> Role | None:
    """Return the role of a process of ours; None for one of the training, or one that is gone."""
    command = _read_command(pid)
    text = " ".join(command)
    if "gpualert_common" not in text or command[0] == "nsenter":
        return None
    if "renewal_program" in text:
        return Role.RENEWAL
    if "notify.sender" in text:
        return Role.SENDER
    if "run" not in command:
        return Role.ALL
    try:
        is_recorder = os.getsid(pid) == pid  # it is forked into a session of its own
    except ProcessLookupError:
        return None
    return Role.RECORDER if is_recorder else Role.SUPERVISOR


def play(lab: Lab, death: Death, *, is_patient: bool = True) -> DeathOutcome:
    """Return the outcome of a death; ``is_patient`` waits for the others before it recovers."""
    began = time.monotonic()
    with start_nodes(NODES) as nodes:
        job = KilledJob(lab, nodes)
        note = "" if job.kill(death) else "(nothing to kill)"
        if death.moment in (Moment.LAUNCH, Moment.TRAINING):
            job.await_steps()
        job.fail()
        job.await_end()
        if is_patient:
            job.await_agreement()
        before = job.mails()
        job.recover()
        outcome = DeathOutcome(death, before, job.mails(), job.report(), note=note)
    outcome.seconds = time.monotonic() - began
    return outcome


def draw_death(seed: int) -> Death:
    """Return a random death."""
    chosen = random.Random(seed)
    role = chosen.choice(list(Role))
    return Death(role, chosen.choice(list(Victim)), after_s=chosen.uniform(0.3, 11.0))


@contextmanager
def start_lab(home: Path) -> Iterator[Lab]:
    """Yield a lab for one of several jobs at the same time."""
    (home / "tmp").mkdir(parents=True)
    lab = Lab(home)
    try:
        yield lab
    finally:
        lab.end_everything()
