"""NCCL's RAS: the number of collectives that each rank has launched, in every communicator.

RAS is a part of NCCL since 2.24, and on by default.  Each machine answers on a socket: at
``localhost:28028``, or at ``NCCL_RAS_ADDR``.  It knows all processes of the job, on all machines.
While a run prints, the source does nothing.  After two minutes without output it reads the status,
and again half a minute later.  Ranks whose counts are unequal in the same way in both stand still.
It asks only a socket that a process of the run has opened, so that it never reads another job.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpualert_common.collectives.analysis import find_stall
from gpualert_common.collectives.ras_client import (
    DEFAULT_ADDRESS,
    RasError,
    parse_address,
    query_status,
)
from gpualert_common.collectives.ras_status import Communicator, parse_status
from gpualert_common.collectives.ras_traces import make_traces, number_processes
from gpualert_common.collectives.stall_text import describe_stall
from gpualert_common.processes.procfs import read_descriptor, read_network
from gpualert_common.processes.sockets import read_sockets
from gpualert_common.structs import to_builtins
from gpualert_common.telemetry.rank_environments import RankEnvironment, RankEnvironments
from gpualert_common.telemetry.silence import measure_silence_s
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    SourceUnavailableError,
)

_ADDRESS_VARIABLE = "NCCL_RAS_ADDR"
_ANY = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}
"""Address at which a socket that listens on all addresses is reached."""
_MOST_READINGS = 20
"""Readings of a run: a status of a large job takes a second."""


class NcclRas(Source):
    """Events: ``collective_stall``, of "job": the ranks that the others wait for, by two readings,
    and ``collective_stall_over`` if later ones show none.
    ``ras_process_dead`` for a process of the job that RAS cannot reach any more, and
    ``ras_unreadable`` if the answer is not understood."""

    decides = "stalled collectives without dumps, by the calls that each rank has launched in NCCL"
    silence_s = 120.0
    """Time without output after which the first reading is taken."""
    between_s = 30.0
    """Time between two readings."""

    def __init__(self, run: ObservedRun | None) -> None:
        if not os.path.isdir("/proc/self"):
            raise SourceUnavailableError("/proc is not mounted", "mount it")
        self._run = run
        self._ranks = None if run is None else RankEnvironments(run)
        self._first: tuple[float, Sequence[Communicator]] | None = None
        self._readings = 0
        self._reported: set[str] = set()
        self._is_stalled = False

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """Yield what two readings of a silent run show."""
        if self._run is None or self._ranks is None:
            return
        if measure_silence_s(self._run) < self.silence_s:
            self._first = None
            return
        ranks, now = self._ranks.update(), time.monotonic()
        is_early = self._first is not None and now - self._first[0] < self.between_s
        if is_early or self._readings >= _MOST_READINGS:
            return
        address = _find_address(ranks)
        if address is None:
            return
        self._readings += 1
        try:
            found = parse_status(query_status(address))
        except RasError as error:
            yield from self._report("ras_unreadable", str(error))
            return
        yield from self._report_dead(found)
        if self._first is not None:
            yield from self._compare(self._first[1], found)
        self._first = (now, found)

    def _compare(
        self, first: Sequence[Communicator], second: Sequence[Communicator]
    ) -> Iterator[SourceEvent]:
        stall = find_stall(make_traces(first, second))
        if stall is None:
            if self._is_stalled:
                self._is_stalled = False
                self._reported.clear()
                text = "the counts of the ranks grow again, or are equal"
                yield SourceEvent("collective_stall_over", "job", text)
            return
        self._is_stalled = True
        text = describe_stall(stall)
        numbers = number_processes(second)
        named = {
            numbers[key]: process
            for one in second
            for process in one.processes.values()
            if numbers.get(key := (process.host, process.pid, process.gpu)) in stall.culprits
        }
        where = "; ".join(f"rank {rank} is {one.describe()}" for rank, one in sorted(named.items()))
        text += f" ({where})" if where else ""
        yield from self._report("collective_stall", text, to_builtins(stall))

    def _report_dead(self, found: Iterable[Communicator]) -> Iterator[SourceEvent]:
        for one in found:
            for rank in one.dead:
                process = one.processes[rank].describe()
                text = f"RAS considers rank {rank} of communicator {one.name} dead: {process}"
                yield from self._report("ras_process_dead", text)

    def _report(
        self, what: str, text: str, fields: Mapping[str, object] | None = None
    ) -> Iterator[SourceEvent]:
        """Yield an event, the same one only once."""
        if text not in self._reported:
            self._reported.add(text)
            yield SourceEvent(what, "job", text, fields or {})


SOURCE: type[Source] = NcclRas


def _find_address(ranks: Mapping[int, RankEnvironment]) -> str | None:
    """Return an address of RAS at which a process of the run listens; None if none does."""
    ours = read_network(os.getpid())
    for one in ranks.values():
        try:
            port = parse_address(one.variables.get(_ADDRESS_VARIABLE, DEFAULT_ADDRESS))[1]
        except RasError:
            continue
        found = _find_listener(one.pid, port) if read_network(one.pid) == ours else None
        if found is not None:
            return found
    return None


def _find_listener(pid: int, port: int) -> str | None:
    """Return the address of a port at which a process listens, so that no name is looked up."""
    sockets = {
        f"socket:[{inode}]": found.local
        for inode, found in read_sockets(pid).items()
        if found.is_listening and found.local.endswith(f":{port}")
    }
    if not sockets:
        return None
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return None
    targets = (read_descriptor(pid, int(number)) for number in numbers)
    local = next((sockets[target] for target in targets if target in sockets), None)
    host = None if local is None else _ANY.get(local.rpartition(":")[0])
    return local if host is None else f"{host}:{port}"
