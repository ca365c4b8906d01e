"""A private Slurm: its controller, accounting and nodes, each node a machine of its own.

The nodes are namespaces of this machine (:mod:`tests.slurm_machines`), and everything else is in
one folder, so that several clusters can run at once.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from tests.slurm_configuration import write_configuration
from tests.slurm_machines import WITH_US, Machine, start_machines

Result = TypeVar("Result")

HEAD = "head"
"""Name of the machine that the users of the cluster log in to."""
OPERATOR = "daemon"
"""A user who may cancel the jobs of all others."""
_PROGRAMS = ("sacct", "sacctmgr", "salloc", "sbatch", "scancel", "scontrol", "sinfo", "squeue")
_START = 30.0
"""Seconds that the start of the whole cluster may take on a busy machine."""
_STOP = 10.0


@dataclass
class SlurmCluster:
    """A running cluster.

    ``environment`` are the variables of a program on this machine that uses the cluster: Slurm's
    commands in its PATH run on the head.  Partitions: ``main`` (its jobs are requeued by those of
    ``urgent``), ``killable`` (they are cancelled), and ``urgent``.  Each node has two CPUs.
    """

    home: Path
    machines: Mapping[str, Machine]
    environment: Mapping[str, str]
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes."""
        return tuple(name for name in self.machines if name != HEAD)

    def run(
        self, *command: str, on: str = HEAD, user: str | None = None, timeout_s: float = 30.0
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on a machine, as root or as another user."""
        return subprocess.run(
            self.machines[on].inside(*command, user=user),
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )

    def submit(self, script: str, *arguments: str, user: str | None = None) -> int:
        """Submit a batch script by its text; the id of its job.

        Its output is ``JOB.out`` in the folder ``jobs``, unless the arguments name another one.
        """
        file = self.home / "jobs" / f"script-{time.monotonic_ns()}.sh"
        file.write_text(f"#!/bin/bash\n{script}\n")
        file.chmod(0o755)
        output = f"--output={self.home}/jobs/%j.out"
        words = ("sbatch", "--parsable", output, f"--chdir={self.home}/jobs", *arguments)
        answer = self.run(*words, str(file), user=user)
        if answer.returncode:
            raise RuntimeError(f"sbatch: {answer.stderr}")
        return int(answer.stdout.split(";")[0])

    def output_of(self, job: int) -> str:
        """Return the output of a batch job so far."""
        file = self.home / "jobs" / f"{job}.out"
        return file.read_text(errors="replace") if file.exists() else ""

    def state_of(self, job: int) -> str:
        """Return the state of a job as its controller has it, empty if it does not know the job."""
        shown = self.run("scontrol", "--oneliner", "show", "job", str(job)).stdout
        words = (word.partition("=") for word in shown.split())
        return next((value for key, _, value in words if key == "JobState"), "")

    def wait_for(self, job: int, *states: str, timeout_s: float = 60.0) -> str:
        """Return the state of a job as soon as it is one of those."""
        problem = f"job {job} did not become {' or '.join(states)}"
        return wait_until(lambda: self._one_of(job, states), problem, timeout_s)

    def _one_of(self, job: int, states: Sequence[str]) -> str:
        state = self.state_of(job)
        return state if state in states else ""

    def kill_daemon(self, name: str) -> None:
        """Kill the daemon of a node, or "slurmctld", "slurmdbd"; its jobs go on."""
        daemon = self.daemons.pop(name)
        for child in _children_of(daemon.pid):  # nsenter waits for the daemon of a node
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        daemon.kill()
        daemon.wait(_STOP)

    def start_daemon(self, name: str) -> None:
        """Start the daemon of a node, or "slurmctld", "slurmdbd"."""
        machine = self.machines.get(name, self.machines[HEAD])
        program = "slurmd" if name in self.nodes else name
        self.daemons[name] = _start(self.home, name, machine.inside(program, "-D"))

    def wait_for_nodes(self) -> None:
        """Return as soon as each node is idle."""
        wait_until(self._are_idle, "the nodes did not become idle", _START)

    def _are_idle(self) -> bool:
        states = self.run("sinfo", "--noheader", "--Node", "--format=%N %t", "-p", "main").stdout
        return states.split() == [word for name in self.nodes for word in (name, "idle")]


def wait_until(look: Callable[[], Result], problem: str, timeout_s: float) -> Result:
    """Return the first result that is true; a RuntimeError with the problem after the time."""
    deadline = time.monotonic() + timeout_s
    while not (result := look()):
        if time.monotonic() > deadline:
            raise RuntimeError(problem)
        time.sleep(0.05)
    return result


@contextmanager
def slurm_cluster(
    home: Path,
    nodes: int = 2,
    *,
    has_accounting: bool = True,
    settings: Mapping[str, str] | None = None,
) -> Iterator[SlurmCluster]:
    """Start a cluster in a folder; all of its processes are ended at the end."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "jobs").mkdir(mode=0o777)
    (home / "jobs").chmod(0o777)
    names = [f"node{number + 1}" for number in range(nodes)]
    with ExitStack() as stack:
        machines = stack.enter_context(start_machines(home, HEAD, names))
        environment = {
            "SLURM_CONF": str(home / "slurm.conf"),
            "PATH": f"{_write_programs(home, machines[HEAD])}:{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
        }
        cluster = SlurmCluster(home, machines, environment)
        stack.callback(_stop_daemons, cluster)
        write_configuration(home, HEAD, names, has_accounting, settings or {})
        _start_daemons(cluster, has_accounting)
        cluster.wait_for_nodes()
        yield cluster


def _start_daemons(cluster: SlurmCluster, has_accounting: bool) -> None:
    """Start the daemons in the order in which they need one another."""
    home, head = cluster.home, cluster.machines[HEAD]
    munge = (f"--key-file={home}/munge/key", f"--socket={home}/munge/socket", "--num-threads=2")
    files = (f"--pid-file={home}/munge/pid", f"--seed-file={home}/munge/seed")
    log = f"--log-file={home}/munge/log"
    command = ("munged", "--foreground", "--force", *munge, *files, log)
    cluster.daemons["munged"] = _start(home, "munged", head.inside(*command))
    wait_until((home / "munge" / "socket").exists, "munged did not start", _START)
    if has_accounting:
        _start_database(cluster)
        cluster.start_daemon("slurmdbd")
        add = ("sacctmgr", "--immediate", "--quiet", "add", "cluster", "lab")
        wait_until(lambda: cluster.run(*add).returncode == 0, "slurmdbd did not start", _START)
        _add_operator(cluster)
    for name in ("slurmctld", *cluster.nodes):
        cluster.start_daemon(name)


def _add_operator(cluster: SlurmCluster) -> None:
    """Add the account and the user before the controller starts, which later may end it."""
    user = ("user", OPERATOR, "account=lab", "adminlevel=Operator")
    for words in (("account", "lab"), user):
        added = cluster.run("sacctmgr", "--immediate", "--quiet", "add", *words)
        if added.returncode:
            raise RuntimeError(f"sacctmgr: {added.stderr}")


def _start_database(cluster: SlurmCluster) -> None:
    """Start a MariaDB that only its machine can reach, without users and without syncs."""
    home = cluster.home
    (home / "database").mkdir()
    options = (
        "--no-defaults",
        "--user=root",
        "--skip-grant-tables",
        "--bind-address=127.0.0.1",
        "--port=3306",
        f"--datadir={home}/database",
        f"--socket={home}/database.socket",
        f"--pid-file={home}/database.pid",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-buffer-pool-size=32M",
        "--innodb-log-file-size=16M",
    )
    command = cluster.machines[HEAD].inside("mariadbd", *options)
    cluster.daemons["mariadbd"] = _start(home, "mariadbd", command)
    wait_until((home / "database.socket").exists, "mariadbd did not start", _START)


def _write_programs(home: Path, head: Machine) -> Path:
    """Write Slurm's commands for this machine: each enters the head, unless it is inside."""
    folder = home / "bin"
    folder.mkdir()
    here = os.readlink("/proc/self/ns/net")
    enter = " ".join(head.inside()[:-1])
    for name in (*_PROGRAMS, "srun"):
        file = folder / name
        program = shutil.which(name) or name
        file.write_text(
            f'#!/bin/sh\n[ "$(readlink /proc/self/ns/net)" = "{here}" ] && exec {enter} '
            f'--wdns="$PWD" {program} "$@"\nexec {program} "$@"\n'
        )
        file.chmod(0o755)
    return folder


def _start(home: Path, name: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
    with (home / f"{name}.log").open("ab") as log:
        return subprocess.Popen(
            (*WITH_US, *command),
            env={**os.environ, "SLURM_CONF": str(home / "slurm.conf")},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _stop_daemons(cluster: SlurmCluster) -> None:
    """Kill the daemons, the last one first; what a node runs ends with its machine."""
    for name in reversed(tuple(cluster.daemons)):
        cluster.kill_daemon(name)


def _children_of(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


@pytest.fixture(scope="session")
def slurm() -> Iterator[SlurmCluster]:
    """A cluster of two nodes, which all tests of one call share."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as home:
        Path(home).chmod(0o755)  # munge refuses a folder that its users cannot enter
        with slurm_cluster(Path(home) / "cluster") as cluster:
            yield cluster
