"""Distributed trainings whose processes do not find each other, each with its own reason."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.telemetry.series import Telemetry
from tests.faults.networks import DROPPED, FIRST, SECOND, Network, network
from tests.supervised import PROGRAM, PYTHON, Lab, free_port, until

TRAINING = """
import datetime, os, sys
import torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=int(sys.argv[1])))
dist.barrier()
print(f"rank {dist.get_rank()} of {dist.get_world_size()}", flush=True)
dist.destroy_process_group()
"""
PATIENCE_S = 6
"""Time-out of PyTorch's stores, which try twice; long enough for a sample of the source."""
LONG_PATIENCE_S = 20
"""Time-out of a run that prints nothing: the source tries when it has been silent for 10 s."""


class Runs:
    """The runs of this module, which are in progress in parallel."""

    def __init__(self, home: Path, machines: Network) -> None:
        self.home = home
        self.machines = machines
        self.labs: dict[str, Lab] = {}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        (home / "train.py").write_text(TRAINING)

    def start(self, name: str, command: tuple[str, ...], **variables: object) -> None:
        """Start a supervised run on the first machine, with these variables."""
        words = (*PROGRAM, "run", "--quiet", "--streams", "merged", "--", *command)
        self.processes[name] = self._start(name, self.machines.on_first(*words), variables)

    def train(self, name: str, patience_s: int, **variables: object) -> None:
        """Start a training that the variables of ``env://`` describe."""
        self.start(name, self.training(patience_s), **variables)

    def torchrun(self, name: str, *options: str) -> None:
        """Start a training by torchrun."""
        self.start(name, self._torchrun_command(*options))

    def torchrun_on_second(self, *options: str) -> None:
        """Start a training on the second machine, which nobody supervises."""
        command = self.machines.on_second(*self._torchrun_command(*options))
        self._start(f"second_{len(self.labs)}", command, {})

    def hold_port(self, port: int) -> None:
        """Start a process on the first machine that listens on a port, and wait until it does."""
        command = self.machines.on_first(PYTHON, "-c", HOLDER, str(port))
        holder = self._start("holder", command, {}, stdout=subprocess.PIPE)
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"listening\n"

    def serve(self, name: str, script: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a server on the second machine, and wait until it listens; it prints all it can."""
        command = self.machines.on_second(PYTHON, "-c", script, *arguments)
        variables = {"TORCH_CPP_LOG_LEVEL": "INFO"}
        server = self._start(name, command, variables, subprocess.PIPE)
        output = server.stdout
        assert output is not None
        until(lambda: output.readline() == b"listening\n", "the server to listen", 120.0)
        return server

    def training(self, patience_s: int) -> tuple[str, ...]:
        """Return the command of one rank."""
        return (PYTHON, str(self.home / "train.py"), str(patience_s))

    def _torchrun_command(self, *options: str) -> tuple[str, ...]:
        launcher = (PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", "1")
        return (*launcher, *options, *self.training(LONG_PATIENCE_S)[1:])

    def _start(
        self,
        name: str,
        command: tuple[str, ...],
        variables: Mapping[str, object],
        stdout: int | None = None,
    ) -> subprocess.Popen[bytes]:
        lab = self.labs[name] = Lab(self.home / name)
        (lab.home / "tmp").mkdir(parents=True)
        given: dict[str, str] = {
            "GPUALERT_OBSERVE": "true",
            "GLOO_SOCKET_IFNAME": self.machines.device,
        }
        given |= {variable: str(value) for variable, value in variables.items()}
        environment = {**os.environ, **lab.environment(), **given}
        piped = {} if stdout is None else {"stdin": stdout, "stderr": subprocess.STDOUT}
        return lab.start(command, env=environment, stdout=stdout, **piped)

    def list_outcomes(self, name: str) -> list[str]:
        """Return the outcomes of the trials that a run's record has by now."""
        if not self.labs[name].records():
            return []
        telemetry = Telemetry()
        telemetry.read(self.labs[name].record())
        return [one.fields["outcome"] for one in telemetry.find_events("rendezvous_state")]

    def verdict(self, name: str) -> dict[str, Any]:
        """Return the verdict on a run once it has ended."""
        self.processes[name].wait(120)
        verdict = self.labs[name].record().read_json("verdict.json")
        assert verdict is not None
        return dict(verdict)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """Start all runs of this module."""
    home = tmp_path_factory.mktemp("rendezvous")
    with network(home) as machines:
        made = Runs(home, machines)
        try:
            _start_all(made, free_port())
            yield made
        finally:
            for lab in made.labs.values():
                lab.end_everything()


def _start_all(made: Runs, port: int) -> None:
    """Start the runs, each with a port of its own from this one on."""
    master = ("--nnodes", "2", "--master-port", str(port), "--master-addr")
    patience = ("--rdzv-conf", f"timeout={PATIENCE_S}")
    made.torchrun("unknown_name", *master, "node-0", "--node-rank", "1", *patience)
    one_of_two = {"MASTER_PORT": port, "RANK": 1, "WORLD_SIZE": 2}
    made.train("refused", PATIENCE_S, MASTER_ADDR=SECOND, **one_of_two)
    made.train("no_answer", LONG_PATIENCE_S, MASTER_ADDR=DROPPED, **one_of_two)
    made.start(
        "wrong_world_size",
        ("bash", "-c", 'RANK=0 "$@" & RANK=1 "$@"', "sh", *made.training(LONG_PATIENCE_S)),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=port + 1,
        WORLD_SIZE=3,
    )
    three = ("--nnodes", "3", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"{FIRST}:{port + 2}")
    timeout = f"join_timeout={LONG_PATIENCE_S}"
    made.torchrun("nodes_missing", *three, "--rdzv-conf", f"is_host=1,{timeout}")
    made.torchrun_on_second(*three, "--rdzv-conf", f"is_host=0,{timeout}")
    made.hold_port(port + 3)
    made.torchrun("port_held", "--master-port", str(port + 3))
    pair = ("--nnodes", "2", "--master-addr", FIRST, "--master-port", str(port + 4))
    made.torchrun("complete", *pair, "--node-rank", "0")
    made.torchrun_on_second(*pair, "--node-rank", "1")


GIVES_UP = """
import os, sys, time
from pathlib import Path
print("starting", flush=True)
while not Path(sys.argv[1]).exists():
    time.sleep(0.05)
host, port = os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"]
print("Traceback (most recent call last):")
print('  File "train.py", line 5, in <module>')
print("    dist.init_process_group('gloo')")
sys.exit("torch.distributed.DistNetworkError: The client socket has timed out after 6000ms while "
    f"trying to connect to ({host}, {port}).")
"""


HOLDER = """
import socket, sys, time
with socket.socket() as one:
    one.bind(("0.0.0.0", int(sys.argv[1])))
    one.listen()
    print("listening", flush=True)
    time.sleep(600)
"""


STORE = """
import datetime, sys
import torch.distributed as dist
options = {"use_libuv": sys.argv[2] == "libuv", "wait_for_workers": False}
place = ("10.77.0.2", int(sys.argv[1]), 2)
store = dist.TCPStore(*place, True, datetime.timedelta(seconds=60), **options)
print("listening", flush=True)
sys.stdin.readline()
client = dist.TCPStore(*place, False, **options)
client.set("key", "value")
print(store.get("key").decode(), flush=True)
"""


@pytest.mark.e2e
@pytest.mark.parametrize("backend", ["libuv", "socket"])
def test_trials_disturb_no_store(backend: str, runs: Runs) -> None:
    """A store of PyTorch serves its clients after trials, and prints nothing about them."""
    port = str(free_port())
    server = runs.serve(backend, STORE, port, backend)
    trial = (
        "import sys; from gpualert_common.coordinator.endpoint_trial import *\n"
        f"for _ in range(20): print(try_endpoint('{SECOND}', {port}).outcome)"
    )
    tried = subprocess.run(runs.machines.on_first(PYTHON, "-c", trial), capture_output=True)
    assert tried.stdout.split() == [b"answered"] * 20, tried.stderr
    output, _ = server.communicate(b"go on\n", 60)
    lines = [line for line in output.splitlines() if b"[c10d]" not in line or b"rror" in line]
    assert lines == [b"value"]


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("name", "attribution", "words"),
    [
        ("unknown_name", "job", "the name node-0 does not exist"),
        ("refused", "unknown", f"{SECOND}:"),
        ("no_answer", "infrastructure", f"no answer from {DROPPED}:"),
        ("port_held", "job", "is held by process"),
    ],
)
def test_each_told_apart(name: str, attribution: str, words: str, runs: Runs) -> None:
    """Each obstacle has a verdict of its own, with its attribution."""
    verdict = runs.verdict(name)
    assert (verdict["cause"], verdict["family"]) == ("rendezvous", "C1")
    assert verdict["details"]["obstacle"] == name
    assert verdict["attribution"] == attribution
    assert words in verdict["headline"]
    assert "rendezvous" in [claim["source"] for claim in verdict["shows"]]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "attribution", "words"),
    [
        ("wrong_world_size", "job", "the world size is 3, the number of processes 2"),
        ("nodes_missing", "unknown", "2 of 3 nodes joined"),
    ],
)
def test_incomplete_group(name: str, attribution: str, words: str, runs: Runs) -> None:
    """Missing processes are counted; on a busy machine they may start too late for that."""
    test_each_told_apart(name, attribution, words, runs)


@pytest.mark.e2e
def test_late_coordinator(runs: Runs) -> None:
    """A coordinator that came up after the last trial is seen when the run has ended."""
    port, go = str(free_port()), runs.home / "go"
    command = (PYTHON, "-c", GIVES_UP, str(go))
    runs.start("late", command, MASTER_ADDR=SECOND, MASTER_PORT=port, RANK=1, WORLD_SIZE=2)
    until(lambda: "refused" in runs.list_outcomes("late"), "the first trial")
    runs.serve("late_server", HOLDER, port)
    go.touch()
    verdict = runs.verdict("late")
    assert (verdict["cause"], verdict["details"]["obstacle"]) == ("rendezvous", "answers_now")
    shown = [claim["claim"] for claim in verdict["shows"] if claim["source"] == "rendezvous"]
    assert "was refused" in shown[0]
    assert "was accepted" in shown[1]


@pytest.mark.e2e
def test_end_before_the_first_trial(runs: Runs) -> None:
    """A run that ends before its first trial is explained by the one at its end."""
    go = runs.home / "at_once"
    command = (PYTHON, "-c", GIVES_UP, str(go))
    place = {"MASTER_ADDR": SECOND, "MASTER_PORT": free_port()}
    runs.start("brief", command, **place, RANK=1, WORLD_SIZE=2)
    until(lambda: runs.list_outcomes("brief") == ["untried"], "the address to be known")
    go.touch()
    assert runs.verdict("brief")["details"]["obstacle"] == "refused"


@pytest.mark.e2e
def test_complete(runs: Runs) -> None:
    """A training of two machines that find each other is not disturbed."""
    assert runs.verdict("complete")["cause"] == "none"
    record = runs.labs["complete"].record()
    assert Path(record.log_path("output.log")).read_text() == "rank 0 of 2\n"
