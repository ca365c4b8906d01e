"""StartObstacle of a coordinator's state: why the processes of a run do not find each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from gpualert_common.classify.details import Scalar
from gpualert_common.coordinator.endpoint_trial import TrialOutcome
from gpualert_common.coordinator.state import CoordinatorState, PortConflict
from gpualert_common.processes.rank_names import format_numbers
from gpualert_common.structs import Struct, field, replace

_MOST_NAMED = 8


class Obstacle(StrEnum):
    """Reason for which processes do not find each other, as the cases of the rule name it."""

    UNKNOWN_NAME = "unknown_name"
    NO_NAME_SERVER = "no_name_server"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    NO_ANSWER = "no_answer"
    DENIED = "denied"
    NOT_OPEN = "not_open"
    WRONG_MACHINE = "wrong_machine"
    LOOPBACK = "loopback"
    NODES_MISSING = "nodes_missing"
    RANKS_MISSING = "ranks_missing"
    OTHERS_MISSING = "others_missing"
    ANSWERS_NOW = "answers_now"
    WRONG_WORLD_SIZE = "wrong_world_size"
    REPEATED_RANK = "repeated_rank"
    PORT_HELD = "port_held"
    PORT_HELD_BY_RUN = "port_held_by_run"
    PORT_FREE = "port_free"


MISSING_PROCESSES = frozenset(
    (
        Obstacle.LOOPBACK,
        Obstacle.NODES_MISSING,
        Obstacle.RANKS_MISSING,
        Obstacle.WRONG_WORLD_SIZE,
        Obstacle.REPEATED_RANK,
    )
)
"""Obstacles that show that the group was never complete."""


class StartObstacle(Struct, frozen=True):
    """An obstacle, and the details that the texts of the rule refer to.

    ``is_certain`` is False if the same state is also that of a run whose group is complete.
    """

    obstacle: Obstacle
    because: str
    details: Mapping[str, Scalar] = field(default_factory=dict)
    is_certain: bool = True


_OF_A_TRIAL = {
    TrialOutcome.UNKNOWN_NAME: Obstacle.UNKNOWN_NAME,
    TrialOutcome.NO_NAME_SERVER: Obstacle.NO_NAME_SERVER,
    TrialOutcome.REFUSED: Obstacle.REFUSED,
    TrialOutcome.UNREACHABLE: Obstacle.UNREACHABLE,
    TrialOutcome.NO_ANSWER: Obstacle.NO_ANSWER,
    TrialOutcome.DENIED: Obstacle.DENIED,
}


FAILED_OUTCOMES = frozenset(_OF_A_TRIAL)
"""Outcomes of a trial that failed."""


def explain_conflict(conflict: PortConflict) -> StartObstacle:
    """Return the obstacle for a port that could not be opened."""
    obstacle = Obstacle.PORT_HELD if conflict.listens else Obstacle.PORT_FREE
    if conflict.is_own:
        obstacle = Obstacle.PORT_HELD_BY_RUN
    details: dict[str, Scalar] = {"port": conflict.port}
    if conflict.pid:
        details |= {"pid": conflict.pid, "program": conflict.name}
    return StartObstacle(obstacle, conflict.describe(), details)


def explain_state(state: CoordinatorState) -> StartObstacle | None:
    """Return the obstacle that a state shows; None if it shows a complete group, or nothing."""
    if state.outcome is TrialOutcome.UNTRIED:
        return None
    if state.outcome in _OF_A_TRIAL:
        return _make_obstacle(state, _OF_A_TRIAL[state.outcome])
    if state.outcome is TrialOutcome.ANSWERED:
        if state.member:
            return None  # each process has its own address, and all of them answer
        return replace(_make_obstacle(state, Obstacle.OTHERS_MISSING), is_certain=state.in_launcher)
    return _explain_here(state)


def explain_late(state: CoordinatorState) -> StartObstacle | None:
    """Return the obstacle of a run that could not connect to a coordinator which accepts now."""
    if state.outcome is not TrialOutcome.ANSWERED:
        return None
    return _make_obstacle(state, Obstacle.ANSWERS_NOW)


def is_complete(state: CoordinatorState) -> bool:
    """Return whether all processes that the run announces are here, or their nodes connected."""
    if state.outcome is not TrialOutcome.IS_HERE or not state.listens:
        return False
    if _is_on_one_machine(state):
        return bool(state.world_size) and len(state.ranks) == state.world_size
    return bool(state.nodes) and len({"", *state.hosts}) >= (state.nodes or 0)


def _explain_here(state: CoordinatorState) -> StartObstacle | None:
    """Return the obstacle on the machine to which the address belongs."""
    has_other_nodes = (state.nodes or 1) > 1
    is_other_node = has_other_nodes and (state.node_rank or 0) > 0
    if state.is_loopback and has_other_nodes:
        return _make_obstacle(state, Obstacle.LOOPBACK)
    if state.repeated:
        return _make_obstacle(state, Obstacle.REPEATED_RANK, repeated=_list_numbers(state.repeated))
    if not state.listens:
        is_elsewhere = is_other_node or (bool(state.ranks) and 0 not in state.ranks)
        obstacle = Obstacle.WRONG_MACHINE if is_elsewhere else Obstacle.NOT_OPEN
        first = state.ranks[0] if state.ranks else None
        return _make_obstacle(state, obstacle, node_rank=state.node_rank, first_rank=first)
    if _is_on_one_machine(state):
        return _explain_one_machine(state)
    if state.nodes:
        return _explain_nodes(state, state.nodes)
    return _explain_clients(state)


def _explain_one_machine(state: CoordinatorState) -> StartObstacle | None:
    size, here = state.world_size, len(state.ranks)
    if not size or not here or here == size:
        return None
    missing = sorted(set(range(min(size, 1 << 16))) - set(state.ranks))
    return _make_obstacle(
        state,
        Obstacle.WRONG_WORLD_SIZE,
        started=here,
        expected=size,
        missing=_list_numbers(missing) or "none",
    )


def _explain_nodes(state: CoordinatorState, nodes: int) -> StartObstacle | None:
    joined = len({"", *state.hosts})
    if joined >= nodes:
        return None
    names = ", ".join(state.missing_names[:_MOST_NAMED])
    more = len(state.missing_names) - _MOST_NAMED
    if more > 0:
        names += f" and {more} more"
    return _make_obstacle(
        state,
        Obstacle.NODES_MISSING,
        joined=joined,
        expected=nodes,
        missing=names or None,
        connected=", ".join(host for host in state.hosts if host) or None,
    )


def _explain_clients(state: CoordinatorState) -> StartObstacle | None:
    """Return the obstacle of a run that announces its size only: each rank has a connection."""
    if not state.world_size or state.in_launcher or state.clients >= state.world_size:
        return None
    missing = sorted(set(range(min(state.world_size, 1 << 16))) - set(state.ranks))
    return _make_obstacle(
        state,
        Obstacle.RANKS_MISSING,
        joined=state.clients,
        expected=state.world_size,
        started=len(state.ranks) or None,
        missing=_list_numbers(missing) if state.ranks else None,
    )


def _is_on_one_machine(state: CoordinatorState) -> bool:
    """Return whether no process on another machine can take part."""
    return state.is_loopback or state.nodes == 1


def _make_obstacle(state: CoordinatorState, obstacle: Obstacle, **details: Scalar) -> StartObstacle:
    """Return an obstacle with those details that are known."""
    known: dict[str, Scalar] = {
        "host": state.host,
        "port": state.port,
        "endpoint": state.endpoint,
        "named_by": state.named_by,
        "address": ", ".join(state.addresses) or None,
        "error": state.error or None,
        "member": state.member or None,
        **details,
    }
    shown = {name: value for name, value in known.items() if value is not None}
    return StartObstacle(obstacle, state.describe(), shown)


def _list_numbers(numbers: Iterable[int]) -> str:
    """Return numbers in words, with spans, of which only the first are shown: "1, 3-7"."""
    spans = format_numbers(numbers).split(", ")
    more = len(spans) - _MOST_NAMED
    return ", ".join(spans[:_MOST_NAMED]) + (f" and {more} more spans" if more > 0 else "")
