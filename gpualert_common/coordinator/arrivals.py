"""Nodes that are connected to the coordinator of this machine, and those that are not."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from gpualert_common.coordinator.endpoint_trial import is_own, resolve

_NAMES_TIMEOUT_S = 3.0
"""Time for all names together: those of a cluster are in a file or in a cache."""


def list_hosts(clients: Iterable[str]) -> tuple[str, ...]:
    """Return the addresses of the machines that are connected, "" for this one, without repeats."""
    return tuple(sorted({"" if is_own(one) else one for one in set(clients)}))


class NodeAddresses:
    """Addresses of nodes by their names; each name is looked up until it has one."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}

    def find_missing(self, names: Sequence[str], hosts: Iterable[str]) -> tuple[str, ...]:
        """Return the names of other nodes from whose addresses nothing is connected.

        Empty if not every name can be resolved in time.
        """
        connected, missing = set(hosts), []
        deadline = time.monotonic() + _NAMES_TIMEOUT_S
        for name in names:
            addresses = self._resolve(name, max(0.0, deadline - time.monotonic()))
            if not addresses:
                return ()
            if connected.isdisjoint(addresses) and not any(map(is_own, addresses)):
                missing.append(name)
        return tuple(missing)

    def _resolve(self, name: str, timeout_s: float) -> tuple[str, ...]:
        found = self._known.get(name) or resolve(name, timeout_s)[0]
        self._known[name] = found
        return found
