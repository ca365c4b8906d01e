"""Nodes of a test: each with a host name, an address and processes of its own on one machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

DEVICE = "eth0"
"""The network device of each node."""
_INIT = """
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # reaps the processes that have lost their parent
print("ready", flush=True)
while True:
    signal.pause()
"""


@dataclass(frozen=True)
class Node:
    """A node: its host name, its address, its network namespace, and its first process."""

    name: str
    address: str
    namespace: str
    init: subprocess.Popen[str]

    def command(self, *command: str) -> tuple[str, ...]:
        """Return a command that runs on this node."""
        children = Path(f"/proc/{self.init.pid}/task/{self.init.pid}/children").read_text()
        inside = ("nsenter", "-t", children.split()[0], "-n", "-u", "-p", "-m")
        return (*inside, f"--wd={os.getcwd()}", "--", *command)

    def cut_cable(self) -> None:
        """Take the node off the network."""
        _ip("-n", self.namespace, "link", "set", DEVICE, "down")

    def lose_power(self) -> None:
        """Take the node off the network, and kill all of its processes at once."""
        self.cut_cable()
        self.init.send_signal(signal.SIGKILL)
        self.init.wait()


@contextmanager
def start_nodes(count: int) -> Iterator[list[Node]]:
    """Create nodes that a switch connects; they are removed at the end.  Needs root."""
    tag = uuid.uuid4().hex[:6]
    switch = f"gp{tag}s"
    nodes: list[Node] = []
    try:
        _ip("netns", "add", switch)
        _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", switch, "link", "set", "bridge", "up")
        for i in range(count):
            namespace = f"gp{tag}n{i}"
            _ip("netns", "add", namespace)
            nodes.append(_start_node(i, namespace))
            _connect(nodes[-1], i, switch)
        yield nodes
    finally:
        for node in nodes:
            node.init.kill()
            node.init.wait()
        for name in (*(node.namespace for node in nodes), switch):
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def _start_node(index: int, namespace: str) -> Node:
    name = f"node{index}"
    apart = ("unshare", "--uts", "--pid", "--fork", "--mount-proc", "--kill-child")
    script = f'hostname {name} && exec "$@"'
    first = ("sh", "-c", script, "sh", sys.executable, "-c", _INIT)
    command = ["nsenter", f"--net=/run/netns/{namespace}", *apart, *first]
    init = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert init.stdout is not None
    assert init.stdout.readline() == "ready\n"
    return Node(name, f"10.79.0.{index + 1}", namespace, init)


def _connect(node: Node, index: int, switch: str) -> None:
    one_end = ("link", "add", DEVICE, "netns", node.namespace, "type", "veth")
    _ip(*one_end, "peer", "name", f"port{index}", "netns", switch)
    _ip("-n", switch, "link", "set", f"port{index}", "master", "bridge", "up")
    _ip("-n", node.namespace, "address", "add", f"{node.address}/24", "dev", DEVICE)
    for device in ("lo", DEVICE):
        _ip("-n", node.namespace, "link", "set", device, "up")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
