"""State of a coordinator as seen from one machine of the run: the fields of the events about it."""

from __future__ import annotations

from gpualert_common.coordinator.endpoint_trial import TrialOutcome
from gpualert_common.structs import Struct

_FAILURES = {
    TrialOutcome.REFUSED: "was refused",
    TrialOutcome.UNREACHABLE: "failed",
    TrialOutcome.NO_ANSWER: "got no answer",
    TrialOutcome.DENIED: "was denied by this machine",
}


_ELSEWHERE = "; rank 0 runs on this machine, which does not have that address"


class CoordinatorState(Struct, frozen=True):
    """The address of a coordinator, the outcome of its trial, and the announcement of the run.

    Of a coordinator on this machine: whether a process listens, whose it is, how many connections
    it has, the addresses of their machines ("" for this one), and the names of nodes without any.
    """

    host: str
    port: int
    outcome: TrialOutcome
    named_by: str = ""
    member: str = ""
    addresses: tuple[str, ...] = ()
    error: str = ""
    is_loopback: bool = False
    in_launcher: bool = False
    world_size: int | None = None
    nodes: int | None = None
    node_rank: int | None = None
    ranks: tuple[int, ...] = ()
    repeated: tuple[int, ...] = ()
    listens: bool = False
    is_own: bool = False
    pid: int = 0
    command: str = ""
    clients: int = 0
    hosts: tuple[str, ...] = ()
    missing_names: tuple[str, ...] = ()

    @property
    def endpoint(self) -> str:
        """Host and port."""
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def describe(self) -> str:
        """Return the state in words, as a sentence without its full stop."""
        if self.outcome is TrialOutcome.UNTRIED:
            return f"its processes are to meet at {self.endpoint}, by {self.named_by}"
        if self.outcome is TrialOutcome.IS_HERE:
            return self._describe_here()
        of = f" of {self.member}" if self.member else ""
        if self.outcome is TrialOutcome.UNKNOWN_NAME:
            return f"the name {self.host}{of} cannot be resolved here: {self.error}"
        if self.outcome is TrialOutcome.NO_NAME_SERVER:
            return f"the name {self.host}{of} could not be looked up here: {self.error}"
        address = ", ".join(self.addresses)
        tried = f"a connection from here to {self.endpoint}{of}"
        tried += "" if address == self.host else f" ({address})"
        if self.outcome is TrialOutcome.ANSWERED:
            return f"{tried} was accepted"
        error = f": {self.error}" if self.error else ""
        elsewhere = _ELSEWHERE if 0 in self.ranks and not self.member else ""
        return f"{tried} {_FAILURES[self.outcome]}{error}{elsewhere}"

    def _describe_here(self) -> str:
        where = f"{self.endpoint} is this machine"
        if not self.listens:
            return f"{where}, and no process listens on that port"
        who = f"process {self.pid}" if self.pid else "a process that is not visible from here"
        others = ", ".join(host for host in self.hosts if host)
        connected = f"connected are {others}" if others else "no other machine is connected"
        return f"{where}; {who} listens on that port, and {connected}"


class PortConflict(Struct, frozen=True):
    """A port that the run could not open, and the process that has it, as far as it is visible."""

    port: int
    listens: bool = False
    pid: int = 0
    name: str = ""
    command: str = ""
    is_own: bool = False

    def describe(self) -> str:
        """Return the conflict in words, as a sentence without its full stop."""
        if self.pid:
            whose = "of this run" if self.is_own else "which is not of this run"
            return (
                f"process {self.pid} ({self.command}), {whose}, listens on port {self.port} of "
                "this machine"
            )
        if self.listens:
            return f"a process that is not visible from here listens on port {self.port}"
        return f"port {self.port} of this machine is free now"
