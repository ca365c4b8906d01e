"""A training without PyTorch: RANK ADDRESS,... CULPRIT SIGNAL.

Each rank exchanges a byte with all others in each step, as a collective does, and reports a lost
peer in the words of gloo.  The rank CULPRIT fails once the file SIGNAL exists.
"""

import os
import socket
import sys
import time

rank, addresses, culprit, file = sys.argv[1], sys.argv[2].split(","), sys.argv[3], sys.argv[4]
_STEPS = 1000
_PORT, _STEP_S, _PEER_TIMEOUT_S, _START_S = 29600, 0.1, 4.0, 10.0
_LOST = "[gloo/transport/tcp/pair.cc:534] Connection closed by peer [{}]:{}"
_LATE = "[gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 4000ms for recv operation"


class DistStoreError(RuntimeError):
    """As of PyTorch: not all ranks came."""


def connect() -> list[tuple[str, socket.socket]]:
    """Return a connection to each other rank."""
    index = int(rank)
    server = socket.create_server((addresses[index], _PORT))
    server.settimeout(_START_S)
    peers = [(one, _reach(one)) for one in addresses[:index]]
    for _other in addresses[index + 1 :]:
        try:
            peer, name = server.accept()
        except TimeoutError:
            raise _describe_start(len(peers)) from None
        peers.append((name[0], peer))
    for _name, peer in peers:
        peer.settimeout(_PEER_TIMEOUT_S)
    return peers


def _reach(address: str) -> socket.socket:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        try:
            return socket.create_connection((address, _PORT), timeout=1.0)
        except OSError:
            time.sleep(0.1)
    raise _describe_start(0)


def _describe_start(joined: int) -> DistStoreError:
    counts = f"{joined + 1}/{len(addresses)} clients joined."
    return DistStoreError(f"Timed out after 11 seconds waiting for clients. {counts}")


def reduce_all(peers: list[tuple[str, socket.socket]]) -> None:
    """Exchange a byte with each peer."""
    for name, peer in peers:
        try:
            peer.sendall(b"x")
            is_lost = not peer.recv(1)
        except TimeoutError:
            raise RuntimeError(_LATE) from None
        except OSError:
            is_lost = True
        if is_lost:
            raise RuntimeError(_LOST.format(name, _PORT))


def load_shard(path: str) -> bytes:
    """Read a part of the data set."""
    with open(path, "rb") as file:
        return file.read()


def train() -> None:
    """Train, and fail when the file is there."""
    peers = connect()
    for step in range(1, _STEPS + 1):
        if rank == culprit and os.path.exists(file):
            load_shard("/data/shard-17.bin")
        reduce_all(peers)
        print(f"step {step}/{_STEPS} loss {2.0 / step:.4f}", flush=True)
        time.sleep(_STEP_S)


train()
