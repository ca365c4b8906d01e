"""Tests of the parts of the source ``rendezvous``: announcements, log lines, ports, trials."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.coordinator.announcement import (
    Announcement,
    Endpoint,
    parse_address,
    read_announcement,
)
from gpualert_common.coordinator.arrivals import NodeAddresses, list_hosts
from gpualert_common.coordinator.endpoint_trial import (
    TrialOutcome,
    is_own,
    resolve,
    try_addresses,
    try_endpoint,
)
from gpualert_common.coordinator.last_trial import reports_failed_rendezvous, try_again
from gpualert_common.coordinator.node_names import expand_node_names
from gpualert_common.coordinator.port_use import (
    find_port_holder,
    read_port_use,
)
from gpualert_common.coordinator.start_lines import StartLineReader, parse_start_lines
from gpualert_common.coordinator.state import CoordinatorState
from gpualert_common.structs import replace

LOOPBACK = "127.0.0.1"
ENV = {"MASTER_ADDR": "node-0", "MASTER_PORT": "29500", "WORLD_SIZE": "16", "RANK": "9"}
TENSORFLOW = '{"cluster":{"worker":["a:1","b:2"],"ps":["c:3"]},"task":{"type":"worker","index":1}}'


@pytest.mark.parametrize(
    ("command", "environment", "endpoint", "nodes", "node_rank"),
    [
        ("torchrun train.py", {}, "127.0.0.1:29500", 1, None),
        ("torchrun --nnodes 2 --node-rank 1 --master-addr n0 t.py", {}, "n0:29500", 2, 1),
        ("torchrun --nnodes=2:4 --rdzv-backend c10d --rdzv_endpoint n0 t", {}, "n0:29400", 2, None),
        ("torchrun t.py --master-addr other", {"PET_MASTER_ADDR": "n0"}, "other:29500", 1, None),
        ("torchrun t.py", {"PET_NNODES": "3", "PET_MASTER_ADDR": "n0"}, "n0:29500", 3, None),
        ("torchrun --standalone --nproc-per-node 8 train.py", {}, None, 1, None),
        ("torchrun --rdzv-backend c10d --rdzv-endpoint localhost:0 t.py", {}, None, 1, None),
        ("accelerate launch --num_machines 2 --main_process_ip n0 t.py", {}, "n0:29500", 2, None),
        ("python train.py", ENV, "node-0:29500", None, None),
        ("python train.py", {**ENV, "LOCAL_WORLD_SIZE": "8"}, "node-0:29500", 2, None),
        ("python train.py", {**ENV, "GROUP_RANK": "1"}, "node-0:29500", None, 1),
        ("python train.py --dist-url tcp://10.0.0.1:23456", ENV, "10.0.0.1:23456", None, None),
        ("python train.py --dist-url env://", ENV, "node-0:29500", None, None),
        ("python train.py", {"JAX_COORDINATOR_ADDRESS": "h:1234"}, "h:1234", None, None),
        ("python t.py --coordinator_address=h:1234", {}, "h:1234", None, None),
        ("python t.py", {"MASTER_ADDR": "fd00::1", "MASTER_PORT": "7"}, "[fd00::1]:7", None, None),
        ("python train.py", {"MASTER_ADDR": "h", "MASTER_PORT": "99999"}, None, None, None),
        ("torchrun --master-addr fd00::1 t.py", {}, "[fd00::1]:29500", 1, None),
        ("python -W ignore train.py --backend accelerate", ENV, "node-0:29500", None, None),
        ("python -u t.py --init-method tcp://[::1]:9?rank=0", {}, "[::1]:9", None, None),
        ("bash -c torchrun", {}, None, None, None),
        ("python train.py", {}, None, None, None),
    ],
)  # fmt: skip
def test_announcement(
    command: str,
    environment: dict[str, str],
    endpoint: str | None,
    nodes: int | None,
    node_rank: int | None,
) -> None:
    """Endpoint, nodes and node rank follow from arguments and variables."""
    words = command.replace("torchrun", "python -m torch.distributed.run").split()
    words = ["python", "/bin/accelerate", *words[1:]] if words[0] == "accelerate" else words
    found = read_announcement(environment, words)
    assert next(map(str, found.endpoints), None) == endpoint
    assert (found.nodes, found.node_rank) == (nodes, node_rank)


def test_tensorflow() -> None:
    """Each other member of TF_CONFIG has an endpoint, with its name."""
    found = read_announcement({"TF_CONFIG": TENSORFLOW}, ["python", "train.py"])
    assert [(str(one), one.member) for one in found.endpoints] == [
        ("a:1", "worker 0"),
        ("c:3", "ps 0"),
    ]
    assert found.world_size == 3
    for text in (
        "[1]",
        "[" * 100_000,
        '{"cluster": {}, "task": {"type": 1, "index": "' + "9" * 5000,
        '{"cluster": {}, "task": {"type": "worker", "index": Infinity}}',
    ):
        assert read_announcement({"TF_CONFIG": text}, ["python"]) == Announcement()


def test_slurm() -> None:
    """Slurm names the nodes, and their number if nothing else does."""
    job = {"SLURM_JOB_NODELIST": "gpu[01-02]", "SLURM_NODEID": "1"}
    found = read_announcement({**job, "MASTER_ADDR": "gpu01", "MASTER_PORT": "1"}, ["python"])
    assert (found.nodes, found.node_rank, found.node_names) == (2, 1, ("gpu01", "gpu02"))
    part = read_announcement({**job, **ENV, "LOCAL_WORLD_SIZE": "16"}, ["python"])
    assert (part.nodes, part.node_names) == (1, ())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gpu[01-03,07],login1", ("gpu01", "gpu02", "gpu03", "gpu07", "login1")),
        ("rack1-node[8-10]", ("rack1-node8", "rack1-node9", "rack1-node10")),
        ("a", ("a",)),
        ("a[1-999999999]", ()),
        ("a[1-2]b[3-4]", ()),
        ("a[1-" + "9" * 5000 + "]", ()),
        ("a[" + "0" * 5000 + "1]", ()),
        ("a[3-1]", ()),
        ("[[", ()),
        ("", ()),
    ],
)
def test_node_names(text: str, names: tuple[str, ...]) -> None:
    """The short form is expanded; a form that is not known, or a long list, gives no names."""
    assert expand_node_names(text) == names


def test_addresses() -> None:
    """An address needs a usable port."""
    assert parse_address("tcp://h:1/", "x") == Endpoint("h", 1, "x")
    assert parse_address("[::1]:80", "x") == Endpoint("::1", 80, "x")
    assert parse_address("h", "x", 5) == Endpoint("h", 5, "x")
    assert [parse_address(one, "x") for one in ("h", "h:0", "h:70000", ":1", "a b:1")] == [None] * 5


@pytest.mark.parametrize(
    ("line", "trains", "waits"),
    [
        (b"step 12: loss 2.31\n", True, False),
        (b"Epoch 1/10\n", True, False),
        (b"[2026-11-27] iteration 10/ 600 | lm loss: 2.1E+00\n", True, False),
        (b"{'loss': 1.2, 'epoch': 0.1}\n", True, False),
        (b"epochs: 10\nbatch_size: 32\nmax_steps 1000\nlabel_smoothing_loss: 0.1\n", False, False),
        (b"Loading checkpoint shards: 100%|###| 2/2 [00:01<00:00]\n", False, False),
        (b"DistStoreError: Timed out after 9 seconds waiting for clients. 1/2 clients joined.\n",
         False, True),
        (b"[c10d] The client socket has timed out after 8000ms while trying to connect to (n, 9)\n",
         False, True),
        (b"[W] [c10d] The IPv6 network addresses of (n, 9) cannot be retrieved\n", False, True),
        (b"torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n", False, True),
        (b"ConnectionError: HTTPSConnectionPool(host='hub', port=443)\n", False, False),
    ],
)  # fmt: skip
def test_start_lines(line: bytes, trains: bool, waits: bool) -> None:
    """Steps are told from configurations, and a rendezvous from other connections."""
    found = parse_start_lines(line)
    assert (found.trains, found.waits) == (trains, waits)


def test_progress_bar(tmp_path: Path) -> None:
    """A bar that overwrites its line is output, and so is a line without an end."""
    log = tmp_path / "output.log"
    log.write_bytes(b"loading:  10%|#\r")
    reader = StartLineReader([str(log)])
    assert reader.read().is_new
    assert not reader.read().is_new
    with log.open("ab") as file:
        file.write(b"." * (1 << 20))
    assert reader.read().is_new
    assert not reader.read().is_new


BIND = b"The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use)."
LISTEN = b"port: 29633, useIpv6: false, code: -98, name: EADDRINUSE, message: address in use"


@pytest.mark.parametrize(
    ("line", "port"),
    [(LISTEN, 29633), (BIND, 29500), (b"OSError: [Errno 98] Address already in use", 0)],
)
def test_port_in_use(line: bytes, port: int) -> None:
    """The port that is in use is read from the lines that name it."""
    found = parse_start_lines(b"starting\n" + line + b"\n")
    assert (found.port_in_use, found.port) == (True, port)


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A socket that listens on a free port of loopback."""
    with socket.create_server((LOOPBACK, 0)) as one:
        yield one


def test_trial(listening: socket.socket) -> None:
    """An open port answers, and a closed one refuses; the server sees an end without a byte."""
    port = listening.getsockname()[1]
    assert try_addresses([LOOPBACK], port, 5.0) == (TrialOutcome.ANSWERED, "")
    connection, _ = listening.accept()
    with connection:
        assert connection.recv(1) == b""
    listening.close()
    assert try_addresses([LOOPBACK], port, 5.0) == (TrialOutcome.REFUSED, "Connection refused")


def test_trial_without_an_answer() -> None:
    """A server whose queue is full drops requests, as a firewall does."""
    with socket.socket() as server, socket.socket() as first, socket.socket() as second:
        server.bind((LOOPBACK, 0))
        server.listen(0)
        for one in (first, second):
            one.setblocking(False)
            one.connect_ex(server.getsockname())
        outcome = try_addresses([LOOPBACK], server.getsockname()[1], 0.2)
    assert outcome == (TrialOutcome.NO_ANSWER, "Connection timed out")


def test_first_answer_counts(listening: socket.socket) -> None:
    """Of several addresses one that answers is enough, whatever the others do."""
    port = listening.getsockname()[1]
    assert try_addresses(["::1", LOOPBACK, "fe80::1%none"], port, 5.0)[0] is TrialOutcome.ANSWERED


def test_names() -> None:
    """An own address is not tried, and a name that cannot exist is not known."""
    assert try_endpoint(LOOPBACK, 1).outcome is TrialOutcome.IS_HERE
    assert try_endpoint(LOOPBACK, 1).is_loopback
    assert is_own("::1") == os.path.exists("/proc/net/if_inet6")
    assert not is_own("203.0.113.7")
    assert resolve(LOOPBACK, 5.0)[0] == (LOOPBACK,)
    assert try_endpoint("a" * 300, 1).outcome is TrialOutcome.UNKNOWN_NAME


def test_port_of_another_process() -> None:
    """The process that listens is found by the tables of the kernel, and its clients with it."""
    code = (
        "import socket, sys; one = socket.create_server(('127.0.0.1', 0));"
        "print(one.getsockname()[1], flush=True); client = one.accept();"
        "print('accepted', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        (sys.executable, "-c", code), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        port = int(server.stdout.readline())
        with socket.create_connection((LOOPBACK, port)):
            assert server.stdout.readline() == b"accepted\n"
            use = read_port_use(port, os.getpid())
            holder = find_port_holder(use)
            assert holder.pid == server.pid
            assert holder.command.startswith(sys.executable)
            assert list_hosts(use.clients) == ("",)
        server.stdin.close()
    assert find_port_holder(read_port_use(port, os.getpid())).pid == 0


def test_missing_nodes() -> None:
    """Nodes without a connection are named only if every name can be resolved."""
    nodes = NodeAddresses()
    names = ("203.0.113.1", "203.0.113.2", LOOPBACK)
    assert nodes.find_missing(names, ("203.0.113.1",)) == ("203.0.113.2",)
    assert nodes.find_missing(("203.0.113.1", "a" * 300), ()) == ()


def test_rank_0_elsewhere() -> None:
    """A failed trial on the machine of rank 0 says that the address is not that machine's."""
    state = CoordinatorState("h", 1, TrialOutcome.REFUSED, addresses=("10.0.0.1",), ranks=(0, 1))
    assert state.describe() == (
        "a connection from here to h:1 (10.0.0.1) was refused; rank 0 runs on this machine, which "
        "does not have that address"
    )
    assert "rank 0" not in replace(state, ranks=(1,)).describe()


@pytest.mark.parametrize(
    ("tail", "is_failed"),
    [
        (
            b"torch.distributed.DistStoreError: Timed out after 9 seconds. 1/2 clients joined.\n",
            True,
        ),
        (b"torch.distributed.DistNetworkError: The client socket has timed out\n", True),
        (b"RuntimeError: connect() timed out. Original timeout was 61616 ms.\n", True),
        (b"torch.distributed.DistNetworkError: port: 9, name: EADDRINUSE\n", False),
        (b"ModuleNotFoundError: No module named 'model'\n", False),
        (b"RuntimeError: CUDA error: out of memory\n", False),
        (b"", False),
    ],
)
def test_failed_rendezvous(tail: bytes, is_failed: bool) -> None:
    """Only an end by a failed rendezvous, not by an occupied port, has a last trial."""
    assert reports_failed_rendezvous(tail) == is_failed


def test_last_trial() -> None:
    """After the end an own address shows nothing, and a name that does not exist is reported."""
    state = CoordinatorState(LOOPBACK, 9, TrialOutcome.UNTRIED, world_size=2)
    assert try_again(state) is None
    tried = try_again(replace(state, host="a" * 300))
    assert tried is not None
    assert (tried.outcome, tried.world_size) == (TrialOutcome.UNKNOWN_NAME, 2)
