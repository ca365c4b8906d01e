"""Nodes of a test: each with a host name, an address and a network of its own on one machine."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

DEVICE = "eth0"
"""The network device of each node."""


@dataclass(frozen=True)
class Node:
    """A node: its host name, its address, and its network namespace."""

    name: str
    address: str
    namespace: str

    def command(self, *command: str) -> tuple[str, ...]:
        """Return a command that runs on this node."""
        script = f'hostname {self.name} && exec "$@"'
        enter = ("nsenter", f"--net=/run/netns/{self.namespace}", "unshare", "--uts")
        return (*enter, "sh", "-c", script, "sh", *command)

    def cut_cable(self) -> None:
        """Take the node off the network."""
        _ip("-n", self.namespace, "link", "set", DEVICE, "down")


@contextmanager
def start_nodes(count: int) -> Iterator[list[Node]]:
    """Create nodes that a switch connects; they are removed at the end.  Needs root."""
    tag = uuid.uuid4().hex[:6]
    switch = f"gp{tag}s"
    nodes = [Node(f"node{i}", f"10.79.0.{i + 1}", f"gp{tag}n{i}") for i in range(count)]
    try:
        _ip("netns", "add", switch)
        _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", switch, "link", "set", "bridge", "up")
        for i, node in enumerate(nodes):
            _ip("netns", "add", node.namespace)
            one_end = ("link", "add", DEVICE, "netns", node.namespace, "type", "veth")
            _ip(*one_end, "peer", "name", f"port{i}", "netns", switch)
            _ip("-n", switch, "link", "set", f"port{i}", "master", "bridge", "up")
            _ip("-n", node.namespace, "address", "add", f"{node.address}/24", "dev", DEVICE)
            for device in ("lo", DEVICE):
                _ip("-n", node.namespace, "link", "set", device, "up")
        yield nodes
    finally:
        for name in (*(node.namespace for node in nodes), switch):
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
