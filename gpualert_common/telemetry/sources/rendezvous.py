"""Start of a distributed run: whether its processes can reach their coordinator, and who is there.

The address, the number of processes and the nodes are read from the environments and arguments of
the run's processes.  While the run waits before its first step, the name is resolved, and a TCP
connection to another machine is opened and closed without sending a byte: after five silent
seconds, and again after each tenth of the wait so far, at most once in five seconds and at least
once in a minute.  A coordinator that answers is tried every half minute.  On the coordinator's own
machine the kernel's tables show who listens on the port and who is connected.  Nothing is read or
tried from the first step on.  If the run ends by a failed rendezvous, the address is tried a last
time, for three seconds at most.  Needs no privilege; the process behind a port is visible to the
same user and root only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator

from gpualert_common.coordinator.announcement import Endpoint
from gpualert_common.coordinator.arrivals import NodeAddresses, list_hosts
from gpualert_common.coordinator.endpoint_trial import EndpointTrial, TrialOutcome, try_endpoint
from gpualert_common.coordinator.participants import Participants, find_participants
from gpualert_common.coordinator.port_use import find_port_holder, read_port_use
from gpualert_common.coordinator.start_lines import StartLineReader, StartLines
from gpualert_common.coordinator.state import CoordinatorState, PortConflict
from gpualert_common.processes.procfs import read_network, read_stat
from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.structs import replace, to_builtins
from gpualert_common.telemetry.source import ObservedRun, Sample, Source, SourceEvent

QUIET_S = 5.0
"""Silence after which a run counts as waiting: opening a framework prints or computes."""
_PAUSE_SHARE = 0.1
"""Time to the next trial, as a share of the wait so far: a state that lasts changes late."""
_LEAST_PAUSE_S, _MOST_PAUSE_S = 4.0, 60.0
"""The least one is below the time between two samples, each of which may come a bit early."""
_ANSWERED_PAUSE_S = 30.0
"""Time to the next trial of a coordinator that answers, which has to accept each of them."""
_SOON = 20
"""Samples at the start in which each process is read."""
_RARELY = 6
"""A run that announces no coordinator is read each half minute: its script may yet start one."""
_MOST_WORKING_SAMPLES = 120
"""Ten minutes of work are a training, whatever its lines look like."""
WORKING_CORES = 0.5
"""A process that waits in a rendezvous uses a hundredth of a core."""
_MOST_EVENTS = 50


class RendezvousWait(Source):
    """The wait of a distributed run before its first step.

    Numbers, of "rendezvous": ``waiting_seconds`` without work, and without other output than that
    of connection attempts, ``attempts_total``, the samples with new lines about such attempts, and
    ``trials_total``, all until the first step.

    Events: ``rendezvous_state`` when the state of the coordinator is first seen or changes: its
    address, the outcome of the trial ("untried" before the first one), and on its own machine the
    process that listens and the nodes that are connected.  ``port_in_use`` when the log reports
    that a port is in use, with the process that has it.  ``training_began`` when the log has the
    first step after such an event.
    """

    decides = (
        "rendezvous, by a trial of the coordinator's address, the process behind its port and the "
        "nodes that are connected to it"
    )

    def __init__(self, run: ObservedRun | None) -> None:
        self._run = run
        self._tree = None if run is None or not run.pid else SampledTree(run.pid, run.marker)
        self._log = StartLineReader(() if run is None else run.logs)
        self._nodes = NodeAddresses()
        self._participants: Participants | None = None
        self._pids: frozenset[int] = frozenset()
        self._is_over = run is None
        age_s = 0.0 if run is None else max(0.0, time.time() - run.started_at)
        self._quiet_since = time.monotonic() - min(age_s, QUIET_S)
        self._cpu = (0.0, 0.0)
        self._samples = self._working_samples = self._attempts = self._trials = 0
        self._first_trial_at = self._next_trial_at = 0.0
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
        self._attempts += lines.waits
        if lines.port_in_use:
            yield from self._report_port(lines.port)
        stat = read_stat(self._run.pid) if self._run.pid else None
        if stat is not None and stat.is_live:
            self._read_processes(now)
            yield from self._report(lines, now)

    def _read_processes(self, now: float) -> None:
        """Find the participants, and whether the processes have worked since the last sample."""
        is_rare = self._participants is None and self._samples > _SOON
        if self._tree is None or (is_rare and self._samples % _RARELY):
            return
        members = self._tree.members()
        self._pids = frozenset(members)
        self._participants = find_participants(members) or self._participants
        used_s = sum(one.cpu_s + one.reaped_cpu_s for one in members.values())
        before_s, before = self._cpu
        self._cpu = (used_s, now)
        works = used_s - before_s > WORKING_CORES * (now - before)
        self._working_samples += works
        self._quiet_since = now if works else self._quiet_since
        self._is_over = self._working_samples > _MOST_WORKING_SAMPLES

    def _report(self, lines: StartLines, now: float) -> Iterator[Sample | SourceEvent]:
        """Report the state of the coordinator where a trial is due, and the wait."""
        found = self._participants
        if found is None:
            return
        is_waiting = lines.waits or now - self._quiet_since >= QUIET_S
        if found.network and found.network != read_network(os.getpid()):
            pass  # a container with a network of its own: a trial from here shows nothing
        elif is_waiting and now >= self._next_trial_at:
            yield from self._examine(found, now)
        elif self._last is None and found.announcement.world_size != 1:
            untried = EndpointTrial(TrialOutcome.UNTRIED)
            state = self._observe(found, found.announcement.endpoints[0], untried)
            yield from self._emit("rendezvous_state", state)
        values = {
            "waiting_seconds": round(now - self._quiet_since),
            "attempts_total": self._attempts,
            "trials_total": self._trials,
        }
        yield Sample("rendezvous", values)

    def _report_port(self, port: int) -> Iterator[SourceEvent]:
        """Report the process that listens on the port that the run could not open."""
        found = self._participants
        port = port or (found.announcement.endpoints[0].port if found is not None else 0)
        if not port:
            return
        use = read_port_use(port, self._network_pid)
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
    def _network_pid(self) -> int:
        """A process of the run, whose network counts; our own once there is none."""
        pid = self._participants.pid if self._participants is not None else 0
        return pid if pid and read_network(pid) else os.getpid()

    def _examine(self, found: Participants, now: float) -> Iterator[SourceEvent]:
        """Try the endpoints, and report the first one that fails, or else the first one."""
        results = []
        for endpoint in found.announcement.endpoints:
            results.append((endpoint, try_endpoint(endpoint.host, endpoint.port)))
            if _has_failed(results[-1][1]):
                break
        endpoint, result = results[-1] if _has_failed(results[-1][1]) else results[0]
        self._first_trial_at = self._first_trial_at or now
        self._trials += 1
        pause_s = min(_PAUSE_SHARE * (now - self._first_trial_at), _MOST_PAUSE_S)
        is_answered = any(one.outcome is TrialOutcome.ANSWERED for _endpoint, one in results)
        least_s = _ANSWERED_PAUSE_S if is_answered else _LEAST_PAUSE_S
        self._next_trial_at = now + max(pause_s, least_s)
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
            in_launcher=found.in_launcher,
            world_size=announced.world_size,
            nodes=announced.nodes,
            node_rank=announced.node_rank,
            ranks=found.ranks,
            repeated=found.repeated,
        )
        if result.outcome is TrialOutcome.IS_HERE:
            return self._observe_port(state, announced.node_names)
        return state

    def _observe_port(self, state: CoordinatorState, names: tuple[str, ...]) -> CoordinatorState:
        """Add who listens on the coordinator's port on this machine, and who is connected."""
        use = read_port_use(state.port, self._network_pid)
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
            clients=len(use.clients),
            hosts=hosts,
            missing_names=self._nodes.find_missing(names, hosts),
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
