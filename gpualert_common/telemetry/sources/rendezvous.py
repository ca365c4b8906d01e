"""Start of a distributed run: whether its processes can reach their coordinator, and who is there.

The address, the number of processes and the nodes are read from the environments and arguments of
the run's processes.  While the run waits before its first step, the name is resolved, and a TCP
connection to another machine is opened and closed without sending a byte, at most once in 30
seconds.  On the coordinator's own machine the kernel's tables show who listens on the port and who
is connected.  Nothing is read or tried from the first step on.  Needs no privilege; the process
behind a port is visible to the same user and root only.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from gpualert_common.processes.procfs import read_stat
from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.structs import replace, to_builtins
from gpualert_common.telemetry.coordinator.announcement import Endpoint
from gpualert_common.telemetry.coordinator.arrivals import find_missing_nodes, list_hosts
from gpualert_common.telemetry.coordinator.endpoint_trial import (
    ANSWER_TIMEOUT_S,
    EndpointTrial,
    TrialOutcome,
    try_endpoint,
)
from gpualert_common.telemetry.coordinator.participants import (
    Participants,
    find_participants,
    read_network,
)
from gpualert_common.telemetry.coordinator.port_use import (
    count_connections,
    find_port_holder,
    read_port_use,
)
from gpualert_common.telemetry.coordinator.start_lines import StartLineReader, StartLines
from gpualert_common.telemetry.coordinator.state import CoordinatorState, PortConflict
from gpualert_common.telemetry.source import ObservedRun, Sample, Source, SourceEvent

QUIET_S = 10.0
"""Silence after which a run counts as waiting: opening a framework prints or computes."""
BETWEEN_TRIALS_S = 30.0
LATER_S = 300.0
_SOON = 20
"""Trials and samples in the short interval; later ones are rarer."""
_RARELY = 6
"""A run that announces no coordinator is read each half minute: its script may yet start one."""
_MOST_WORKING_SAMPLES = 120
"""Ten minutes of work are a training, whatever its lines look like."""
WORKING_CORES = 0.5
"""A process that waits in a rendezvous uses a hundredth of a core."""
LAST_TIMEOUT_S = 0.3
"""After the end of a run the sampler waits for half a second."""
_MOST_EVENTS = 50
_OPEN_AT_THE_END = (
    TrialOutcome.IS_HERE,
    TrialOutcome.NO_ANSWER,
    TrialOutcome.NO_NAME_SERVER,
)
"""Outcomes that show nothing after the end: its own port is closed then, and the time is short."""


class RendezvousWait(Source):
    """The wait of a distributed run before its first step.

    Numbers, of "rendezvous": ``waiting_seconds`` without other output than that of connection
    attempts, and ``trials_total``, both until the first step.

    Events: ``rendezvous_state`` when the state of the coordinator is first seen or changes: its
    address, the outcome of the trial, and on its own machine the process that listens and the nodes
    that are connected.  ``port_in_use`` when the log reports that a port is in use, with the
    process that has it.  ``training_began`` when the log has the first step after such an event.
    """

    decides = (
        "rendezvous, by a trial of the coordinator's address, the process behind its port and the "
        "nodes that are connected to it"
    )

    def __init__(self, run: ObservedRun | None) -> None:
        self._run = run
        self._tree = None if run is None or not run.pid else SampledTree(run.pid, run.marker)
        self._log = StartLineReader(() if run is None else run.logs)
        self._participants: Participants | None = None
        self._pids: frozenset[int] = frozenset()
        self._is_over = run is None
        age_s = 0.0 if run is None else max(0.0, time.time() - run.started_at)
        self._quiet_since = time.monotonic() - min(age_s, QUIET_S)
        self._cpu = (0.0, 0.0)
        self._samples = self._working_samples = self._trials = 0
        self._next_trial_at = 0.0
        self._last: CoordinatorState | PortConflict | None = None
        self._events = 0

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """Yield the state of the start; nothing from the first step on."""
        if self._is_over or self._run is None:
            return
        self._samples += 1
        lines = self._log.read()
        now = time.monotonic()
        if lines.trains:
            self._is_over = True
            if self._events:
                text = "the log has a step of a training"
                yield SourceEvent("training_began", "rendezvous", text)
            return
        if lines.is_new and not lines.waits:
            self._quiet_since = now
        stat = read_stat(self._run.pid) if self._run.pid else None
        has_ended = stat is None or not stat.is_live
        works = not has_ended and self._read_processes(now)
        yield from self._report(lines, now, works=works, has_ended=has_ended)

    def _read_processes(self, now: float) -> bool:
        """Find the participants; return whether the processes have worked since the last sample."""
        is_rare = self._participants is None and self._samples > _SOON
        if self._tree is None or (is_rare and self._samples % _RARELY):
            return False
        members = self._tree.members()
        self._pids = frozenset(members)
        self._participants = find_participants(members) or self._participants
        used_s = sum(one.cpu_s + one.reaped_cpu_s for one in members.values())
        before_s, before = self._cpu
        self._cpu = (used_s, now)
        works = used_s - before_s > WORKING_CORES * (now - before)
        self._working_samples += works
        self._is_over = self._working_samples > _MOST_WORKING_SAMPLES
        return works

    def _report(
        self, lines: StartLines, now: float, *, works: bool, has_ended: bool
    ) -> Iterator[Sample | SourceEvent]:
        if lines.port_in_use:
            yield from self._report_port(lines.port)
        is_quiet = now - self._quiet_since >= QUIET_S and not works
        if has_ended:
            if lines.waits and not lines.port_in_use and not self._trials:
                yield from self._examine(now, LAST_TIMEOUT_S, has_ended=True)
        elif (lines.waits or is_quiet) and now >= self._next_trial_at:
            yield from self._examine(now, ANSWER_TIMEOUT_S, has_ended=False)
        if self._participants is not None and not has_ended:
            waited_s = 0.0 if works else now - self._quiet_since
            values = {"waiting_seconds": round(waited_s), "trials_total": self._trials}
            yield Sample("rendezvous", values)

    def _report_port(self, port: int) -> Iterator[SourceEvent]:
        """Report the process that listens on the port that the run could not open."""
        found = self._participants
        named = found.announcement.endpoints if found is not None else ()
        port = port or (named[0].port if named else 0)
        if not port:
            return
        use = read_port_use(port, self._place)
        holder = find_port_holder(use, self._pids)
        conflict = PortConflict(
            port=port,
            listens=bool(use.listening),
            pid=holder.pid,
            name=holder.name,
            command=holder.command,
            is_own=holder.pid in self._pids,
        )
        yield from self._emit("port_in_use", conflict)

    @property
    def _place(self) -> int | str:
        """A process of the run, whose network counts; our own once there is none."""
        pid = self._participants.pid if self._participants is not None else 0
        return pid if pid and read_network(pid) else "self"

    def _examine(self, now: float, timeout_s: float, *, has_ended: bool) -> Iterator[SourceEvent]:
        """Try the endpoints, and report the first one that fails, or else the first one."""
        found = self._participants
        if found is None:
            return
        if found.network and found.network != read_network("self"):
            return  # a container with a network of its own: a trial from here shows nothing
        self._trials += 1
        pause_s = BETWEEN_TRIALS_S if self._trials < _SOON else LATER_S
        self._next_trial_at = now + pause_s
        results = []
        for endpoint in found.announcement.endpoints:
            result = try_endpoint(endpoint.host, endpoint.port, timeout_s)
            if has_ended and result.outcome in _OPEN_AT_THE_END:
                return
            results.append((endpoint, result))
            if _has_failed(result):
                break
        endpoint, result = results[-1] if _has_failed(results[-1][1]) else results[0]
        if all(one.outcome is TrialOutcome.IS_HERE for _endpoint, one in results):
            self._next_trial_at = now  # nothing was tried: the tables of this machine are read
        yield from self._emit("rendezvous_state", self._observe(found, endpoint, result))

    def _observe(
        self, found: Participants, endpoint: Endpoint, result: EndpointTrial
    ) -> CoordinatorState:
        announced = found.announcement
        state = CoordinatorState(
            host=endpoint.host,
            port=endpoint.port,
            outcome=result.outcome,
            named_by=endpoint.named_by,
            member=endpoint.member,
            addresses=result.addresses,
            error=result.error,
            is_loopback=result.is_loopback,
            launcher=announced.launcher,
            in_launcher=found.in_launcher,
            world_size=announced.world_size,
            local_world_size=announced.local_world_size,
            nodes=announced.nodes,
            node_rank=announced.node_rank,
            ranks=found.ranks,
            repeated=found.repeated,
        )
        if result.outcome is TrialOutcome.ANSWERED:
            joined = count_connections(result.addresses, endpoint.port, self._place)
            return replace(state, connections=joined)
        if result.outcome is TrialOutcome.IS_HERE:
            return self._observe_port(state, announced.node_names)
        return state

    def _observe_port(self, state: CoordinatorState, names: tuple[str, ...]) -> CoordinatorState:
        """Add who listens on the coordinator's port on this machine, and who is connected."""
        use = read_port_use(state.port, self._place)
        if not use.listening:
            return state
        hosts = list_hosts(use.clients)
        holder = find_port_holder(use, self._pids)
        return replace(
            state,
            listens=True,
            is_own=holder.pid in self._pids,
            pid=holder.pid,
            command=holder.command,
            holder_rank=holder.rank,
            clients=len(use.clients),
            hosts=hosts,
            missing_names=find_missing_nodes(names, hosts),
        )

    def _emit(self, what: str, state: CoordinatorState | PortConflict) -> Iterator[SourceEvent]:
        """Report a state unless it is the same as the last one."""
        if state != self._last and self._events < _MOST_EVENTS:
            self._last = state
            self._events += 1
            yield SourceEvent(what, "rendezvous", state.describe(), to_builtins(state))


SOURCE: type[Source] = RendezvousWait


def _has_failed(result: EndpointTrial) -> bool:
    return result.outcome not in (TrialOutcome.ANSWERED, TrialOutcome.IS_HERE)
