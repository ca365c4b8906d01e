"""The run waits for its coordinator or its other processes, before its first step.

It has printed nothing but connection attempts for five minutes, its processes are idle, and a trial
of the coordinator's address shows an obstacle that no complete group can have.  An obstacle that no
wait can remove, such as a wrong world size, counts after two minutes.  The processes must have come
to the rendezvous: by their stacks where these are known, else because a launcher has started no
rank yet, the coordinator listens, or the log has connection attempts.  So a start that is only
slow, which loads or compiles, raises no warning.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpualert_common.coordinator.state import CoordinatorState
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.detection import NOT_DETECTED, Detection
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.phenomena.starts._coordinator import (
    Obstacle,
    StartObstacle,
    explain_state,
)
from gpualert_common.model import Claim
from gpualert_common.stacks.activities import StackActivity
from gpualert_common.stacks.groups import group_processes
from gpualert_common.structs import ValidationError, convert

DO = (
    "check that every node of the job has started, with the same coordinator address and port",
    "see where each process waits: `gpualert stacks RUN`",
)
FOLLOWS: frozenset[str] = frozenset()
PREDICTS = frozenset(("rendezvous", "time_limit", "idle_hang"))

_SOURCE = "rendezvous"
_LASTING = frozenset(
    (
        Obstacle.LOOPBACK,
        Obstacle.REPEATED_RANK,
        Obstacle.WRONG_MACHINE,
        Obstacle.WRONG_WORLD_SIZE,
    )
)
"""Obstacles that no wait can remove."""


_TEXTS: Mapping[Obstacle, tuple[str, str]] = {
    Obstacle.UNKNOWN_NAME: (
        "name {host} of the coordinator unknown",
        "check the name in {named_by}: here `getent hosts {host}` must print its address",
    ),
    Obstacle.NO_NAME_SERVER: (
        "no name server for the coordinator's name {host}",
        "check /etc/resolv.conf of this machine, or use the coordinator's IP address in {named_by}",
    ),
    Obstacle.REFUSED: (
        "no process at the coordinator's address {endpoint}",
        "on {host}, check that rank 0 runs, and on which port it listens: `ss -ltnp`",
    ),
    Obstacle.UNREACHABLE: (
        "coordinator {endpoint} unreachable",
        "check that {host} is up, and `ip route get {address}` on this machine",
    ),
    Obstacle.NO_ANSWER: (
        "no answer from the coordinator {endpoint}",
        "check that {host} is up, and that no firewall drops connections to port {port}",
    ),
    Obstacle.DENIED: (
        "connections to the coordinator {endpoint} denied by this machine",
        "check the rules for outgoing connections of this machine, or of its pod",
    ),
    Obstacle.NOT_OPEN: (
        "port {port} of the coordinator not open on this machine",
        "if {host} is not the machine's own name, add --rdzv-conf is_host=true on that node",
    ),
    Obstacle.WRONG_MACHINE: (
        "coordinator {endpoint} resolved to this machine, without rank 0",
        "set {named_by} to a name that leads to the node of rank 0 from every node",
    ),
    Obstacle.LOOPBACK: (
        "coordinator {host} resolved to a local address",
        "set {named_by} to a name or an address by which all nodes reach the node of rank 0",
    ),
    Obstacle.NODES_MISSING: (
        "nodes missing ({joined} of {expected} connected)",
        "look for the run of each missing node; from there, try `nc -vz {host} {port}`",
    ),
    Obstacle.RANKS_MISSING: (
        "ranks missing ({joined} of {expected} connected)",
        "compare the world size, {expected}, with the processes that were started on all nodes",
    ),
    Obstacle.OTHERS_MISSING: (
        "other nodes missing",
        "read the log of the run on {host}, and look for nodes whose run did not start",
    ),
    Obstacle.WRONG_WORLD_SIZE: (
        "ranks missing ({started} of {expected} started)",
        "set WORLD_SIZE to the number of processes, or start the missing ones",
    ),
    Obstacle.REPEATED_RANK: (
        "rank {repeated} started more than once",
        "give each process a RANK of its own, from 0 to WORLD_SIZE - 1",
    ),
}
"""For each obstacle the summary, and the first thing to do."""


def detect(evidence: Evidence) -> Detection | None:
    """Return whether the run waits in its rendezvous; None without a trial."""
    events = evidence.events("rendezvous_state", "training_began")
    waits = evidence.series(_SOURCE, "waiting_seconds")
    if not events or not waits:
        return None
    event = events[-1]
    if event.what == "training_began" or evidence.has_trained:
        return NOT_DETECTED
    try:
        state = convert(event.fields, CoordinatorState)
    except ValidationError:
        return None  # of a sampler of another release
    found = explain_state(state)
    if found is None or not found.is_certain or found.obstacle not in _TEXTS:
        return NOT_DETECTED
    is_lasting = found.obstacle in _LASTING
    least_s = thresholds.LASTING_OBSTACLE_S if is_lasting else thresholds.RENDEZVOUS_WARNING_S
    if waits.last < least_s or not _has_come_so_far(evidence, state, waits.at[-1] - waits.last):
        return NOT_DETECTED
    return _make(found, event.text, waits.at[-1] - waits.last, waits.last)


def _has_come_so_far(evidence: Evidence, state: CoordinatorState, since: float) -> bool:
    """Return whether the processes are in the rendezvous, and not still loading before it."""
    dumps = [one for one in evidence.observations.stacks if one.at >= since]
    groups = group_processes(dumps[-1]) if dumps else []
    if any(group.frames for group in groups):
        return any(group.activity is StackActivity.RENDEZVOUS for group in groups)
    has_tried = evidence.series(_SOURCE, "attempts_total").last > 0
    return state.in_launcher or state.listens or has_tried


def _make(found: StartObstacle, text: str, since: float, waited_s: float) -> Detection:
    summary, advice = (one.format_map(found.details) for one in _TEXTS[found.obstacle])
    waited = f"it has printed nothing but connection attempts for {waited_s:.0f} s"
    shows = (Claim(text, _SOURCE), Claim(waited, _SOURCE))
    return Detection(f"waiting to start: {summary}", since, shows, do=(advice, *DO))
