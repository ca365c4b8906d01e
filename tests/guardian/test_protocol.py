"""Every interleaving of a small world: attempts, guardians and a child, with faults anywhere.

The decisions are the real ones (:class:`Ownership`, :func:`choose_action`).  Processes and files
are modelled as small as possible: an action is all that one party does between two reads of the
disk.  No party has to act, so the model includes parties that are frozen, slow or cut off.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from gpualert_common.guardian import attempt
from gpualert_common.guardian.attempt import Predecessor, TakeoverAction, choose_action
from gpualert_common.guardian.ownership import MOST_GAP_S, Ownership, OwnershipTerms
from gpualert_common.record import RunState

LEASE_S = 3.0
TICK_S = 2.0
FINGERPRINT = "same"


@dataclass
class Run:
    """One run: guardian "up" or "dead", and the content of its record."""

    ownership: Ownership
    number: int
    guardian: str = "up"
    child: bool = False
    told_go: bool = False
    launched: bool = False
    ended: str = ""
    stopping: bool = False
    claimed_by: int | None = None
    requests: list[tuple[str, int]] = field(default_factory=list)
    leases: dict[str, int] = field(default_factory=dict)
    adopted_by: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    adopted_while_stopping: bool = False
    stopped_by_stranger: bool = False
    claimed_after_stop: bool = False

    def copy(self) -> Run:
        """Return a copy of the run."""
        run = copy.copy(self)
        run.ownership = copy.copy(self.ownership)
        run.requests, run.leases = list(self.requests), dict(self.leases)
        run.adopted_by, run.refused = list(self.adopted_by), list(self.refused)
        return run


@dataclass
class Face:
    """One attempt of the engine: its action, its run, and its result."""

    number: int
    doing: str = "not begun"
    run: int = -1
    result: str = ""


@dataclass
class World:
    """State of the whole model."""

    faces: list[Face]
    adopt_within_s: float
    faults: int
    stops: int
    runs: list[Run] = field(default_factory=list)
    lock: int | None = None
    now: float = 0.0

    def copy(self) -> World:
        """Return a copy of the world."""
        world = copy.copy(self)
        world.faces = [copy.copy(face) for face in self.faces]
        world.runs = [run.copy() for run in self.runs]
        return world

    def state(self) -> tuple[Any, ...]:
        """Key of this world: equal for equal worlds; times count only while they matter."""
        return (
            self.faults,
            self.stops,
            self.lock,
            tuple(tuple(vars(face).values()) for face in self.faces),
            tuple(_state(run, self.now) for run in self.runs),
        )


def _state(run: Run, now: float) -> tuple[Any, ...]:
    common: tuple[Any, ...] = (
        run.number,
        run.guardian,
        run.child,
        run.told_go,
        run.launched,
        run.ended,
    )
    common += (run.claimed_by, run.claimed_after_stop)
    common += (run.stopping, tuple(run.adopted_by), tuple(run.refused))
    if run.guardian == "dead" or run.ended:
        return common  # its ownership does not matter any more
    owned = run.ownership
    since = owned._orphaned_at if owned.owner is None else owned._renewed_at
    last = owned._last_owner
    return (
        *(*common, tuple(run.requests), owned.number, last),
        owned.state,
        run.leases.get(last, 0) == owned._renewal,
        last in run.leases,
        min(now - owned._looked_at, MOST_GAP_S),
        min(owned._clock - since, 2 * LEASE_S),
        tuple(sorted(run.leases)),
    )


Action = tuple[str, Callable[[World], None]]


def actions(world: World) -> Iterator[Action]:
    """Yield the possible next actions."""
    for index, face in enumerate(world.faces):
        yield from _actions_of_face(world, index, face)
    for index, run in enumerate(world.runs):
        yield from _actions_of_guardian(world, index, run)
    if any(run.guardian == "up" and not run.ended for run in world.runs):
        yield "time passes", _tick


def _tick(world: World) -> None:
    world.now += TICK_S


# -- attempts ------------------------------------------------------------------------------


def _actions_of_face(world: World, index: int, face: Face) -> Iterator[Action]:
    if face.doing in ("done", "dead"):
        return
    if face.doing == "not begun":
        if index == 0 or world.faces[index - 1].doing != "not begun":
            yield f"{index} begins", lambda w: _set(w.faces[index], doing="wants the key")
        return
    if world.faults:
        yield f"{index} is killed", lambda w: _kill_face(w, index)
    if face.doing == "wants the key" and world.lock is None:
        yield f"{index} takes the key", lambda w: _take_key(w, index)
    elif face.doing == "decides":
        yield f"{index} decides", lambda w: _decide(w, index)
    elif face.doing == "says go":
        yield f"{index} says go", lambda w: _go(w, index)
    elif face.doing == "awaits an answer":
        yield f"{index} reads the answer", lambda w: _read_answer(w, index)
    elif face.doing == "follows":
        if world.runs[face.run].ownership._last_owner == str(index):
            yield f"{index} renews", lambda w: _renew(w.runs[w.faces[index].run], index)
        yield f"{index} follows", lambda w: _follow(w, index)
        if world.stops:
            yield f"{index} asks for a stop", lambda w: _ask_to_stop(w, index)


def _set(thing: Any, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(thing, name, value)


def _kill_face(world: World, index: int) -> None:
    world.faults -= 1
    face = world.faces[index]
    if face.doing == "says go":
        world.runs[face.run].guardian = "dead"  # it reads the end of its pipe, and takes all back
    face.doing = "dead"
    if world.lock == index:
        world.lock = None


def _take_key(world: World, index: int) -> None:
    world.lock = index
    world.faces[index].doing = "decides"


def _predecessor(run: Run) -> Predecessor:
    if run.ended:
        state = RunState.ENDED
    elif run.guardian == "dead":
        state = RunState.LOST
    elif not run.launched:
        state = RunState.STARTING
    elif run.stopping:
        state = RunState.STOPPING
    else:
        state = RunState.RUNNING if run.ownership.owner is not None else RunState.ORPHANED
    return Predecessor(
        state,
        number=run.adopted_by[-1] + 1 if run.adopted_by else run.number,
        has_status=run.ended == "known",
        is_claimed=run.claimed_by is not None,
        is_stopped=run.stopping,
        has_unsupervised_processes=state is RunState.LOST and run.child,
    )


def _decide(world: World, index: int) -> None:
    face = world.faces[index]
    if not world.runs:
        _launch(world, index)
        return
    run = world.runs[-1]
    face.run = len(world.runs) - 1
    match choose_action(_predecessor(run), face.number):
        case TakeoverAction.LAUNCH:
            if run.guardian == "dead":
                run.ended = run.ended or "unknown"
            _launch(world, index)
        case TakeoverAction.CLAIM:
            if run.claimed_by is None:
                run.claimed_by = index
                run.claimed_after_stop = run.stopping
                _set(face, doing="done", result=f"run {face.run}")
                world.lock = None
        case TakeoverAction.ADOPT:
            _renew(run, index)
            run.requests.append(("adopt", index))
            face.doing = "awaits an answer"
        case TakeoverAction.END_PROCESSES:
            run.child = False
            run.ended = "unknown"
            run.stopping = True
        case TakeoverAction.WAIT | TakeoverAction.STOP | TakeoverAction.FENCE:
            pass


def _launch(world: World, index: int) -> None:
    face = world.faces[index]
    terms = OwnershipTerms(LEASE_S, world.adopt_within_s, across_hosts=False)
    ownership = Ownership(terms, str(index), face.number, FINGERPRINT, world.now)
    world.runs.append(Run(ownership, face.number))
    face.run = len(world.runs) - 1
    _renew(world.runs[-1], index)
    face.doing = "says go"


def _go(world: World, index: int) -> None:
    face = world.faces[index]
    world.runs[face.run].told_go = True
    face.doing = "follows"
    world.lock = None


def _renew(run: Run, index: int) -> None:
    if run.guardian != "dead":
        run.leases[str(index)] = run.leases.get(str(index), 0) + 1


def _read_answer(world: World, index: int) -> None:
    face = world.faces[index]
    run = world.runs[face.run]
    if index in run.adopted_by:
        face.doing = "follows"
        world.lock = None
    elif index in run.refused or run.ended or run.guardian == "dead":
        face.doing = "decides"
        run.refused = [other for other in run.refused if other != index]


def _follow(world: World, index: int) -> None:
    face = world.faces[index]
    run = world.runs[face.run]
    if (run.adopted_by or [run.number - 1])[-1] != index:
        _set(face, doing="done", result="superseded")
        return
    if run.guardian == "dead" and not run.ended:
        run.child = False
        run.ended = "unknown"
        run.stopping = True
    if run.ended:
        if run.claimed_by is None:
            run.claimed_by = index
        result = f"run {face.run}" if run.claimed_by == index else "superseded"
        _set(face, doing="done", result=result)


def _ask_to_stop(world: World, index: int) -> None:
    face = world.faces[index]
    world.stops -= 1
    world.runs[face.run].requests.append(("stop", index))


# -- guardians -----------------------------------------------------------------------------


def _actions_of_guardian(world: World, index: int, run: Run) -> Iterator[Action]:
    if run.child:
        yield f"child {index} ends", lambda w: _set(w.runs[index], child=False)
    if run.guardian == "dead" or run.ended:
        return
    if world.faults:
        yield f"guardian {index} is killed", lambda w: _kill_guardian(w, w.runs[index])
    if not run.launched:
        if run.told_go:
            yield f"guardian {index} launches", lambda w: _launch_child(w.runs[index])
        return
    if not run.child:
        yield f"guardian {index} records the end", lambda w: _set(w.runs[index], ended="known")
    yield f"guardian {index} samples", lambda w: _sample_leases(w, w.runs[index])
    if world.faces[int(run.ownership._last_owner)].doing == "dead":
        yield f"guardian {index} sees a death", lambda w: _observe_death(w.runs[index])


def _launch_child(run: Run) -> None:
    run.launched = run.child = True


def _kill_guardian(world: World, run: Run) -> None:
    world.faults -= 1
    run.guardian = "dead"


def _sample_leases(world: World, run: Run) -> None:
    for kind, index in run.requests:
        if kind == "stop":
            rightful = run.ownership.owner or run.ownership._last_owner
            if run.ownership.may_stop({"owner": str(index)}):
                run.stopped_by_stranger |= str(index) != rightful
                _begin_stop(run)
        else:
            number = world.faces[index].number
            request = {"kind": "adopt", "owner": str(index), "number": number}
            terms = {"adopt_within_s": world.adopt_within_s, "lease_s": LEASE_S}
            answer = run.ownership.answer({**request, **terms, "fingerprint": FINGERPRINT})
            if answer[0][0] == "adopted":
                run.adopted_by.append(index)
                run.adopted_while_stopping |= run.stopping
            else:
                run.refused.append(index)
    run.requests = []
    last = world.faces[int(run.ownership._last_owner)]
    run.ownership.observe_leases(run.leases, world.now, alive=last.doing != "dead")
    _end_if_due(run)


def _observe_death(run: Run) -> None:
    run.ownership.observe_follower_exit(run.ownership._last_owner)
    _end_if_due(run)


def _end_if_due(run: Run) -> None:
    if run.ownership.end_reason is not None:
        _begin_stop(run)


def _begin_stop(run: Run) -> None:
    run.stopping = True
    run.ownership.begin_stop()


# -- invariants ----------------------------------------------------------------------------


def check(world: World) -> None:
    """Check the invariants of every interleaving."""
    living = [run for run in world.runs if run.child]
    assert len(living) <= 1, "two trainings of one task"
    results = [face.result for face in world.faces if face.result.startswith("run")]
    assert len(results) == len(set(results)), "two attempts believe that a result is theirs"
    for run in world.runs:
        assert not run.adopted_while_stopping, "a run that was stopping was adopted"
        assert not run.claimed_after_stop, "the result of a stopped run was claimed"
        assert not run.stopped_by_stranger, "a superseded attempt stopped its successor's run"
    for index, face in enumerate(world.faces):
        if face.result.startswith("run"):
            assert world.runs[face.run].claimed_by == index


def check_ends(world: World) -> None:
    """Check that no training goes on for ever without attempts."""
    world = world.copy()
    for face in world.faces:
        if face.doing == "says go":
            world.runs[face.run].guardian = "dead"
        face.doing = "dead"
    for _sample in range(12):
        world.now += TICK_S
        for run in world.runs:
            if run.guardian == "up" and run.told_go and not run.ended:
                _launch_child(run) if not run.launched else _sample_leases(world, run)
    for run in world.runs:
        going_on = run.guardian == "up" and run.child and not run.stopping
        assert not going_on, "nobody follows it, nobody may adopt it, and it goes on"


def explore(first: World) -> int:
    """Visit every reachable world once; return their number."""
    visited = {first.state()}
    queue: deque[tuple[World, tuple[str, ...]]] = deque([(first, ("the beginning",))])
    while queue:
        world, path = queue.popleft()
        for name, act in actions(world):
            after = world.copy()
            act(after)
            state = after.state()
            if state in visited:
                continue
            visited.add(state)
            way = (*path, name)
            try:
                check(after)
                if len(visited) % 7 == 0:
                    check_ends(after)
            except AssertionError as error:
                raise AssertionError(f"{error}\n  " + "\n  ".join(way)) from None
            queue.append((after, way))
    return len(visited)


@pytest.mark.parametrize("adopt_within_s", [0.0, 4.0])
@pytest.mark.parametrize(("faults", "stops"), [(0, 1), (1, 0), (1, 1), (2, 0), (2, 1)])
def test_two_attempts(faults: int, stops: int, adopt_within_s: float) -> None:
    """One training at a time, one owner of a result, no adoption of a stop, no eternal orphan."""
    faces = [Face(number=1), Face(number=2)]
    assert explore(World(faces, adopt_within_s, faults, stops)) > 1000


@pytest.mark.e2e
@pytest.mark.parametrize("adopt_within_s", [0.0, 4.0])
@pytest.mark.parametrize(("faults", "stops"), [(1, 0), (0, 1), (1, 1)])
def test_three_attempts(faults: int, stops: int, adopt_within_s: float) -> None:
    """The same holds for a third attempt during the decision of the second."""
    faces = [Face(number=number) for number in (1, 2, 3)]
    assert explore(World(faces, adopt_within_s, faults, stops)) > 10_000


def _broken(state: str, step: TakeoverAction) -> Callable[[Predecessor, int], TakeoverAction]:
    def broken(before: Predecessor, number: int) -> TakeoverAction:
        return step if before.state == state else attempt.choose_action(before, number)

    return broken


@pytest.mark.parametrize("state", ["starting", "running", "orphaned", "stopping", "lost"])
def test_a_hasty_launch_is_found(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt that launches next to a run in that state violates an invariant, and is found."""
    monkeypatch.setitem(globals(), "choose_action", _broken(state, TakeoverAction.LAUNCH))
    faces = [Face(number=1), Face(number=2)]
    with pytest.raises(AssertionError, match=r"two trainings|goes on"):
        explore(World(faces, 4.0, faults=1, stops=1))


@pytest.mark.parametrize(
    ("rule", "broken", "promise"),
    [
        ("may_stop", lambda _ownership, _request: True, "superseded attempt stopped"),
        ("begin_stop", lambda _ownership: None, "stopping was adopted"),
        ("_orphan", lambda _ownership, _event, _because, _within_s: [], "goes on"),
    ],
)
def test_a_careless_guardian_is_found(
    rule: str, broken: Callable[..., Any], promise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guardian without one of its rules violates an invariant, and is found."""
    monkeypatch.setattr(Ownership, rule, broken)
    faces = [Face(number=1), Face(number=2)]
    with pytest.raises(AssertionError, match=promise):
        explore(World(faces, 4.0, faults=1, stops=1))
