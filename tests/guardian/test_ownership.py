"""What a guardian and an attempt decide, case by case; how the cases meet is test_protocol.py's."""

from __future__ import annotations

from typing import Any

import pytest

from gpualert_common.errors import UsageError
from gpualert_common.guardian.attempt import (
    Attempt,
    Predecessor,
    TakeoverAction,
    decide,
    fingerprint,
)
from gpualert_common.guardian.ownership import MOST_GAP_S, Ownership, OwnershipTerms

LEASE_S = 6.0


def custody(adopt_within_s: float = 60.0, *, across_hosts: bool = False) -> Ownership:
    """Custody of a run that attempt 1 follows, at time 0."""
    return Ownership(OwnershipTerms(LEASE_S, adopt_within_s, across_hosts), "one", 1, "print", 0.0)


def request(kind: str, **fields: Any) -> dict[str, Any]:
    """A request of attempt 2 that has nothing wrong with it but what ``fields`` say."""
    terms = {"adopt_within_s": 60.0, "lease_s": LEASE_S}
    return {"kind": kind, "owner": "two", "number": 2, "fingerprint": "print", **terms, **fields}


def look_until(kept: Ownership, until_s: float, *, every_s: float = 1.0) -> float:
    """Look at a record in which nothing is renewed; the time of the first event, or infinity."""
    kept.looked({"one": 5}, 0.0)
    now = 0.0
    while now < until_s:
        now += every_s
        if kept.looked({"one": 5}, now):
            return now
    return float("inf")


def test_lease_runs_out() -> None:
    """A run is orphaned when its lease was not renewed for longer than agreed."""
    assert LEASE_S < look_until(custody(), 20.0) <= LEASE_S + 1.0


def test_lease_is_renewed_by_any_change() -> None:
    """A renewal is another number, a lower one too: no clock of anybody is read."""
    kept = custody()
    for now in range(1, 100):
        assert kept.looked({"one": -now}, float(now)) == []
    assert kept.owner == "one"


def test_pauses_count_little() -> None:
    """While the record could not be read, no lease runs out: a pause is a look's length at most."""
    kept = custody()
    pauses = int(LEASE_S / MOST_GAP_S)
    assert look_until(kept, 1000.0 * (pauses + 2), every_s=1000.0) >= 1000.0 * pauses


def test_pauses_count_where_others_count_them() -> None:
    """Across hosts a guardian that was blind for a lease ends the run: its fence is relied upon."""
    kept = custody(across_hosts=True)
    kept.time_passed(LEASE_S)
    assert kept.ends_because is None
    kept.time_passed(LEASE_S + 0.1)
    assert kept.ends_because is not None


def test_owner_comes_back() -> None:
    """An orphan goes on with its last owner as if nothing had been when that one renews."""
    kept = custody()
    look_until(kept, 20.0)
    assert kept.owner is None
    assert kept.looked({"one": 7}, 21.0) == [("resumed", {"owner": "one", "number": 1})]
    assert kept.owner == "one"


def test_nobody_comes() -> None:
    """An orphan is ended when nobody adopted it in the time agreed."""
    kept = custody(adopt_within_s=3.0)
    kept.follower_died("one")
    assert kept.ends_because is None
    for now in (1.0, 2.0, 2.9):
        kept.looked({}, now)
    assert kept.ends_because is None
    kept.looked({}, 3.0)
    assert kept.ends_because == "its follower died, and nobody adopted it within 3 s"


@pytest.mark.parametrize("adopt_within_s", [0.0, 3.0])
def test_silent_but_alive(adopt_within_s: float) -> None:
    """A follower that is frozen beyond its lease costs no training its life; its death does."""
    kept = custody(adopt_within_s)
    for now in range(1, 100):
        kept.looked({"one": 5}, float(now), alive=True)
    assert (kept.owner, kept.ends_because) == (None, None)
    kept.follower_died("one")
    kept.looked({"one": 5}, 100.0)
    for now in range(101, 110):
        kept.looked({"one": 5}, float(now))
    assert kept.ends_because is not None


def test_silent_but_alive_far_away() -> None:
    """Where another host relies on the fence, silence is enough."""
    kept = custody(0.0, across_hosts=True)
    for now in range(1, 10):
        kept.looked({"one": 5}, float(now), alive=True)
    assert kept.ends_because is not None


@pytest.mark.parametrize("alive", [True, False])
def test_follower_lets_go(alive: bool) -> None:
    """A follower that ends its lease leaves an orphan at once, also while its process lives."""
    kept = custody(0.0)
    kept.looked({"one": 5}, 1.0, alive=alive)
    ((event, fields),) = kept.looked({}, 1.25, alive=alive)
    assert (event, fields["because"]) == ("orphaned", "its follower let go of it")
    kept.looked({}, 1.5, alive=alive)
    assert kept.ends_because is not None


def test_last_attempt_dies() -> None:
    """Where no attempt will come, the follower's death ends the run at once."""
    kept = custody(adopt_within_s=0.0)
    kept.follower_died("one")
    assert kept.ends_because is not None


def test_adoption_brings_its_own_terms() -> None:
    """Once adopted by the last attempt, a run is not left to a next one."""
    kept = custody()
    assert kept.asked(request("adopt", adopt_within_s=0.0))[0][0] == "adopted"
    kept.follower_died("two")
    assert kept.ends_because is not None


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
    kept = custody()
    ((event, fields),) = kept.asked({**request("adopt"), **wrong})
    assert event == "request_refused"
    assert fields["because"]
    assert (kept.owner, kept.number, kept.ends_because) == ("one", 1, None)


def test_handover() -> None:
    """A run that its owner hands over waits for the next attempt as long as the owner said."""
    kept = custody(adopt_within_s=0.0)
    kept.looked({"one": 5}, 1.0)
    kept.asked(request("handover", owner="one", within_s=2.0))
    kept.looked({"one": 6}, 1.5, alive=True)  # a last renewal on its way
    kept.looked({}, 2.0)
    kept.follower_died("one")
    assert (kept.owner, kept.ends_because) == (None, None)
    assert kept.asked(request("adopt"))[0][0] == "adopted"


def test_fence() -> None:
    """Whoever leaves a fence trains anew elsewhere, so that the run here ends, whatever else."""
    kept = custody(across_hosts=True)
    kept.asked({"kind": "fence"})
    assert kept.ends_because is not None


DECISIONS: list[tuple[Predecessor, TakeoverAction]] = [
    (Predecessor("ended"), TakeoverAction.CLAIM),
    (Predecessor("ended", claimed=True), TakeoverAction.LAUNCH),
    (Predecessor("ended", stopped=True), TakeoverAction.LAUNCH),
    (Predecessor("ended", known=False), TakeoverAction.LAUNCH),
    (Predecessor("ended", same=False), TakeoverAction.LAUNCH),
    (Predecessor("orphaned", number=1), TakeoverAction.ADOPT),
    (Predecessor("orphaned", number=9), TakeoverAction.ADOPT),
    (Predecessor("orphaned", same=False), TakeoverAction.STOP),
    (Predecessor("running", number=1), TakeoverAction.ADOPT),
    (Predecessor("running", number=2), TakeoverAction.WAIT),
    (Predecessor("running", number=3), TakeoverAction.WAIT),
    (Predecessor("running", number=1, same=False), TakeoverAction.STOP),
    (Predecessor("running", number=2, same=False), TakeoverAction.WAIT),
    (Predecessor("starting"), TakeoverAction.WAIT),
    (Predecessor("stopping", number=1), TakeoverAction.WAIT),
    (Predecessor("stopping", same=False), TakeoverAction.WAIT),
    (Predecessor("lost"), TakeoverAction.LAUNCH),
    (Predecessor("lost", remains=True), TakeoverAction.END_REMAINS),
    (Predecessor("running", number=1, far=True, silent=True), TakeoverAction.FENCE),
    (Predecessor("stopping", far=True, silent=True), TakeoverAction.FENCE),
    (Predecessor("running", number=1, far=True), TakeoverAction.ADOPT),
    (Predecessor("ended", far=True, silent=True), TakeoverAction.CLAIM),
]


@pytest.mark.parametrize(("before", "step"), DECISIONS, ids=str)
def test_decisions(before: Predecessor, step: TakeoverAction) -> None:
    """What attempt 2 does next about the run before it."""
    assert decide(before, 2) is step


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
    """An attempt with a value that means nothing is refused, and the value is named."""
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Attempt(**{"key": ("task",), **wrong})


def test_fingerprint() -> None:
    """Values of variables and what shells set do not tell runs apart; all else does."""
    one = fingerprint(["a"], {"SEED": "1"}, "/w")
    same = {"SEED": "2", "_": "x", "SHLVL": "3", "GPUALERT_RUN_ID": "x"}
    assert fingerprint(["a"], same, "/w") == one
    others = [(["b"], {"SEED": "1"}, "/w"), (["a"], {"LR": "1"}, "/w"), (["a"], {"SEED": "1"}, "/")]
    assert one not in {fingerprint(*other) for other in others}
