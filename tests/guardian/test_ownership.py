"""The decisions of a guardian and of an attempt, case by case; test_protocol.py combines them."""

from __future__ import annotations

from typing import Any

import pytest

from gpualert_common.errors import UsageError
from gpualert_common.guardian.attempt import (
    Attempt,
    Predecessor,
    TakeoverAction,
    choose_action,
    fingerprint,
)
from gpualert_common.guardian.ownership import (
    MOST_GAP_S,
    TRANSITIONS,
    Ownership,
    OwnershipEvent,
    OwnershipState,
    OwnershipTerms,
)
from gpualert_common.record import RunState

LEASE_S = 6.0


def owned(adopt_within_s: float = 60.0, *, across_hosts: bool = False) -> Ownership:
    """Return the ownership of a run that attempt 1 follows, at time 0."""
    return Ownership(OwnershipTerms(LEASE_S, adopt_within_s, across_hosts), "one", 1, "print", 0.0)


def request(kind: str, **fields: Any) -> dict[str, Any]:
    """Return a request of attempt 2, valid but for ``fields``."""
    terms = {"adopt_within_s": 60.0, "lease_s": LEASE_S}
    return {"kind": kind, "owner": "two", "number": 2, "fingerprint": "print", **terms, **fields}


def observe_until(kept: Ownership, until_s: float, *, every_s: float = 1.0) -> float:
    """Observe a record in which no lease is renewed; return the time of the first event."""
    kept.observe_leases({"one": 5}, 0.0)
    now = 0.0
    while now < until_s:
        now += every_s
        if kept.observe_leases({"one": 5}, now):
            return now
    return float("inf")


def test_lease_runs_out() -> None:
    """A run is orphaned when its lease was not renewed for longer than agreed."""
    assert LEASE_S < observe_until(owned(), 20.0) <= LEASE_S + 1.0


def test_lease_is_renewed_by_any_change() -> None:
    """Any change of the number is a renewal, also to a lower one: clocks are not compared."""
    kept = owned()
    for now in range(1, 100):
        assert kept.observe_leases({"one": -now}, float(now)) == []
    assert kept.owner == "one"


def test_pauses_count_little() -> None:
    """While the record cannot be read no lease expires: a long pause counts as a short one."""
    kept = owned()
    pauses = int(LEASE_S / MOST_GAP_S)
    assert observe_until(kept, 1000.0 * (pauses + 2), every_s=1000.0) >= 1000.0 * pauses


def test_pauses_count_where_others_count_them() -> None:
    """Across hosts a guardian that could not read for a lease ends the run: others rely on its
    fence."""
    kept = owned(across_hosts=True)
    kept.observe_time(LEASE_S)
    assert kept.end_reason is None
    kept.observe_time(LEASE_S + 0.1)
    assert kept.end_reason is not None


def test_owner_comes_back() -> None:
    """The last owner of an orphaned run resumes it with its next renewal."""
    kept = owned()
    observe_until(kept, 20.0)
    assert kept.owner is None
    assert kept.observe_leases({"one": 7}, 21.0) == [("resumed", {"owner": "one", "number": 1})]
    assert kept.owner == "one"


def test_no_adoption_in_time() -> None:
    """An orphaned run is ended if no attempt adopts it in the agreed time."""
    kept = owned(adopt_within_s=3.0)
    kept.observe_follower_exit("one")
    assert kept.end_reason is None
    for now in (1.0, 2.0, 2.9):
        kept.observe_leases({}, now)
    assert kept.end_reason is None
    kept.observe_leases({}, 3.0)
    assert kept.end_reason == "its follower died, and nobody adopted it within 3 s"


@pytest.mark.parametrize("adopt_within_s", [0.0, 3.0])
def test_silent_but_alive(adopt_within_s: float) -> None:
    """A follower that is frozen beyond its lease does not end the run; its death does."""
    kept = owned(adopt_within_s)
    for now in range(1, 100):
        kept.observe_leases({"one": 5}, float(now), alive=True)
    assert (kept.owner, kept.end_reason) == (None, None)
    kept.observe_follower_exit("one")
    kept.observe_leases({"one": 5}, 100.0)
    for now in range(101, 110):
        kept.observe_leases({"one": 5}, float(now))
    assert kept.end_reason is not None


def test_silent_but_alive_far_away() -> None:
    """If another host relies on the fence, silence alone ends the run."""
    kept = owned(0.0, across_hosts=True)
    for now in range(1, 10):
        kept.observe_leases({"one": 5}, float(now), alive=True)
    assert kept.end_reason is not None


@pytest.mark.parametrize("alive", [True, False])
def test_follower_lets_go(alive: bool) -> None:
    """A follower that ends its lease orphans the run at once, also while its process lives."""
    kept = owned(0.0)
    kept.observe_leases({"one": 5}, 1.0, alive=alive)
    ((event, fields),) = kept.observe_leases({}, 1.25, alive=alive)
    assert (event, fields["because"]) == ("orphaned", "its follower let go of it")
    kept.observe_leases({}, 1.5, alive=alive)
    assert kept.end_reason is not None


def test_last_attempt_dies() -> None:
    """If no attempt will come, the follower's death ends the run at once."""
    kept = owned(adopt_within_s=0.0)
    kept.observe_follower_exit("one")
    assert kept.end_reason is not None


def test_adoption_brings_its_own_terms() -> None:
    """A run that the last attempt adopted does not wait for a next one."""
    kept = owned()
    assert kept.answer(request("adopt", adopt_within_s=0.0))[0][0] == "adopted"
    kept.observe_follower_exit("two")
    assert kept.end_reason is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"number": 1},
        {"number": "2"},
        {"number": True},
        {"number": 1 << 70},
        {"owner": None},
        {"owner": ["two"]},
        {"fingerprint": "another"},
        {"adopt_within_s": "soon"},
        {"adopt_within_s": float("nan")},
        {"adopt_within_s": -1},
        {"kind": "handover"},
        {"kind": "handover", "owner": "one", "within_s": float("inf")},
        {"kind": "handover", "owner": "one", "within_s": None},
        {"lease_s": None},
        {"kind": None},
    ],
    ids=str,
)
def test_refusals(wrong: dict[str, Any]) -> None:
    """A request that is wrong in any field is refused with a reason, and changes nothing."""
    kept = owned()
    ((event, fields),) = kept.answer({**request("adopt"), **wrong})
    assert event == "request_refused"
    assert fields["because"]
    assert (kept.owner, kept.number, kept.end_reason) == ("one", 1, None)


def test_handover() -> None:
    """A run that its owner hands over waits for the next attempt for the owner's time."""
    kept = owned(adopt_within_s=0.0)
    kept.observe_leases({"one": 5}, 1.0)
    kept.answer(request("handover", owner="one", within_s=2.0))
    kept.observe_leases({"one": 6}, 1.5, alive=True)  # a last renewal on its way
    kept.observe_leases({}, 2.0)
    kept.observe_follower_exit("one")
    assert (kept.owner, kept.end_reason) == (None, None)
    assert kept.answer(request("adopt"))[0][0] == "adopted"


def test_fence() -> None:
    """A fence means a new training elsewhere: the run here ends in any case."""
    kept = owned(across_hosts=True)
    kept.answer({"kind": "fence"})
    assert kept.end_reason is not None


def test_closed_run() -> None:
    """Once a stop has begun nothing changes the owner, and the run cannot be adopted."""
    kept = owned(across_hosts=True)
    kept.begin_stop()
    for kind in ("adopt", "handover"):
        ((event, _fields),) = kept.answer(request(kind, within_s=1.0))
        assert event == "request_refused"
    assert kept.observe_leases({}, 100.0) == kept.observe_follower_exit("one") == []
    assert (kept.state, kept.end_reason) == (OwnershipState.STOPPING, None)


def test_each_state_can_be_stopped() -> None:
    """The table has every state; each leads to a stop, and a stop leads nowhere."""
    assert set(TRANSITIONS) == set(OwnershipState)
    for state, after in TRANSITIONS.items():
        assert (OwnershipEvent.STOP in after) is (state is not OwnershipState.STOPPING)
    assert TRANSITIONS[OwnershipState.STOPPING] == {}


DECISIONS: list[tuple[Predecessor, TakeoverAction]] = [
    (Predecessor(RunState.ENDED), TakeoverAction.CLAIM),
    (Predecessor(RunState.ENDED, is_claimed=True), TakeoverAction.LAUNCH),
    (Predecessor(RunState.ENDED, is_stopped=True), TakeoverAction.LAUNCH),
    (Predecessor(RunState.ENDED, has_status=False), TakeoverAction.LAUNCH),
    (Predecessor(RunState.ENDED, has_same_fingerprint=False), TakeoverAction.LAUNCH),
    (Predecessor(RunState.ORPHANED, number=1), TakeoverAction.ADOPT),
    (Predecessor(RunState.ORPHANED, number=9), TakeoverAction.ADOPT),
    (Predecessor(RunState.ORPHANED, has_same_fingerprint=False), TakeoverAction.STOP),
    (Predecessor(RunState.RUNNING, number=1), TakeoverAction.ADOPT),
    (Predecessor(RunState.RUNNING, number=2), TakeoverAction.WAIT),
    (Predecessor(RunState.RUNNING, number=3), TakeoverAction.WAIT),
    (Predecessor(RunState.RUNNING, number=1, has_same_fingerprint=False), TakeoverAction.STOP),
    (Predecessor(RunState.RUNNING, number=2, has_same_fingerprint=False), TakeoverAction.WAIT),
    (Predecessor(RunState.STARTING), TakeoverAction.WAIT),
    (Predecessor(RunState.STOPPING, number=1), TakeoverAction.WAIT),
    (Predecessor(RunState.STOPPING, has_same_fingerprint=False), TakeoverAction.WAIT),
    (Predecessor(RunState.LOST), TakeoverAction.LAUNCH),
    (Predecessor(RunState.LOST, has_unsupervised_processes=True), TakeoverAction.END_PROCESSES),
    (Predecessor(RunState.RUNNING, number=1, is_remote=True, is_silent=True), TakeoverAction.FENCE),
    (Predecessor(RunState.STOPPING, is_remote=True, is_silent=True), TakeoverAction.FENCE),
    (Predecessor(RunState.RUNNING, number=1, is_remote=True), TakeoverAction.ADOPT),
    (Predecessor(RunState.ENDED, is_remote=True, is_silent=True), TakeoverAction.CLAIM),
]


@pytest.mark.parametrize(("before", "step"), DECISIONS, ids=str)
def test_decisions(before: Predecessor, step: TakeoverAction) -> None:
    """The next step of attempt 2 about the run before it."""
    assert choose_action(before, 2) is step


@pytest.mark.parametrize(
    "wrong",
    [
        {"key": ()},
        {"key": ("a", 1)},
        {"number": 1.5},
        {"adopt_within_s": -1.0},
        {"adopt_within_s": float("nan")},
        {"lease_s": 0.1},
    ],
    ids=str,
)
def test_attempts_that_cannot_be(wrong: dict[str, Any]) -> None:
    """An attempt with an invalid value is refused, and the value is named."""
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Attempt(**{"key": ("task",), **wrong})


def test_fingerprint() -> None:
    """Values of variables, and variables that shells set, do not change the fingerprint; others
    do."""
    one = fingerprint(["a"], {"SEED": "1"}, "/w")
    same = {"SEED": "2", "_": "x", "SHLVL": "3", "GPUALERT_RUN_ID": "x"}
    assert fingerprint(["a"], same, "/w") == one
    others = [(["b"], {"SEED": "1"}, "/w"), (["a"], {"LR": "1"}, "/w"), (["a"], {"SEED": "1"}, "/")]
    assert one not in {fingerprint(*other) for other in others}
