"""Two machines of a test: network namespaces that a cable joins, and names that do not resolve."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FIRST, SECOND = "10.77.0.1", "10.77.0.2"
"""The addresses of the two machines."""
DROPPED = "10.77.1.2"
"""An address of the second machine whose answers are dropped on their way to the first one."""
UNUSED = "10.77.0.99"
"""An address that no machine has."""


@dataclass(frozen=True)
class Network:
    """The namespaces of the two machines, the device of the cable in both, and the file that
    switches name servers off."""

    first: str
    second: str
    device: str
    files_only: Path

    def on_first(self, *command: str) -> tuple[str, ...]:
        """Return a command that runs on the first machine, which knows only the names in its own
        file."""
        script = f'mount --bind {self.files_only} /etc/nsswitch.conf && exec "$@"'
        return (*_enter(self.first), "unshare", "--mount", "sh", "-c", script, "sh", *command)

    def on_second(self, *command: str) -> tuple[str, ...]:
        """Return a command that runs on the second machine."""
        return (*_enter(self.second), *command)


def _enter(name: str) -> tuple[str, ...]:
    return ("nsenter", f"--net=/run/netns/{name}")


@contextmanager
def network(home: Path) -> Iterator[Network]:
    """Create the two machines; they are removed at the end."""
    tag = uuid.uuid4().hex[:6]
    files_only = home / "nsswitch.conf"
    files_only.write_text("hosts: files\n")
    made = Network(f"gp{tag}a", f"gp{tag}b", "cable", files_only)
    try:
        for name in (made.first, made.second):
            _ip("netns", "add", name)
        one_end = ("link", "add", made.device, "netns", made.first, "type", "veth")
        _ip(*one_end, "peer", "name", made.device, "netns", made.second)
        for name, addresses in (
            (made.first, (FIRST, "10.77.1.1")),
            (made.second, (SECOND, DROPPED)),
        ):
            for address in addresses:
                _ip("-n", name, "address", "add", f"{address}/24", "dev", made.device)
            for one in ("lo", made.device):
                _ip("-n", name, "link", "set", one, "up")
        _ip("-n", made.second, "route", "add", "blackhole", "10.77.1.1/32")
        yield made
    finally:
        for name in (made.first, made.second):
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
