"""Simulated stalls: the culprits are right, and no innocent rank is named."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gpualert_common.collectives.analysis import find_stall
from gpualert_common.collectives.stall import Difference, Stall, StallKind
from gpualert_common.collectives.stall_text import describe_stall
from gpualert_common.collectives.trace import (
    GroupProgress,
    ProcessGroup,
    RankTrace,
    RecordedCall,
)
from tests.collectives.simulation import FAULTS, simulate
from tests.collectives.tally import Tally, tally_variants

SMALL = (2, 4, 8, 16, 32)
WORLD = ProcessGroup("0", "0", "default_pg", (0, 1, 2, 3))


def call(sequence: int, operation: str = "all_reduce", **more: object) -> RecordedCall:
    """Return a call in the group of all ranks, made in the order of its number."""
    given = {"input_sizes": ((8,),), "output_sizes": ((8,),), "created_ns": sequence}
    return RecordedCall("0", sequence, operation, **{**given, **more})  # type: ignore[arg-type]


def trace(rank: int, calls: list[RecordedCall]) -> RankTrace:
    """Return the trace of a rank with these calls in the group of all ranks."""
    entered = max((one.sequence for one in calls if one.peer is None), default=0)
    done = max((one.sequence for one in calls if one.is_done and one.peer is None), default=0)
    return RankTrace(rank, (WORLD,), (GroupProgress("0", entered, done),), tuple(calls))


def test_variants() -> None:
    """In two variants of each fault, exactly the culprits are named."""
    total = Tally()
    for one in tally_variants(range(2 * len(FAULTS)), SMALL)[0].values():
        total.add(one)
    assert not total.wrong
    assert not total.innocent
    assert total.right + total.disputed == total.runs


@pytest.mark.parametrize("fault", ["asleep", "swapped"])
def test_large_run(fault: str) -> None:
    """Of 1,024 ranks, the culprit is named."""
    run = simulate(FAULTS.index(fault), (1024,))
    stall = find_stall(run.traces, run.world)
    assert stall is not None
    assert set(stall.culprits) == run.culprits


def test_ranks_at_work() -> None:
    """Ranks that completed all that they entered wait for nobody."""
    traces = [trace(rank, [call(1, is_done=True)]) for rank in range(4)]
    assert find_stall(traces, 4) is None


def test_all_entered() -> None:
    """If all ranks entered the call, no rank is named."""
    stall = find_stall([trace(rank, [call(1)]) for rank in range(4)], 4)
    assert stall is not None
    assert stall.kind is StallKind.TRANSFER
    assert stall.culprits == ()


def test_unknown_members() -> None:
    """If a group may have further members, nothing is said about ranks that all entered."""
    group = ProcessGroup("7", "7")
    progress = (GroupProgress("7", 3, 2),)
    traces = [RankTrace(rank, (group,), progress) for rank in (0, 1)]
    assert find_stall(traces) is None


def test_two_ranks_that_disagree() -> None:
    """Of two ranks with different calls, none is the odd one: both are named as such."""
    pair = ProcessGroup("0", "0", "default_pg", (0, 1))
    calls = {0: call(1), 1: call(1, "broadcast")}
    traces = [
        RankTrace(rank, (pair,), (GroupProgress("0", 1, 0),), (one,)) for rank, one in calls.items()
    ]
    stall = find_stall(traces, 2)
    assert stall is not None
    assert (stall.kind, stall.culprits, stall.is_tied) == (StallKind.MISMATCH, (0, 1), True)


def test_two_ranks_in_different_groups() -> None:
    """Two ranks that wait for each other are both named, each with its own place."""
    groups = tuple(ProcessGroup(name, name, name, (0, 1)) for name in ("a", "b"))
    traces = [
        RankTrace(
            rank,
            groups,
            (GroupProgress(own, 1, 0), GroupProgress(other, 0, 0)),
            (RecordedCall(own, 1, operation, created_ns=1),),
        )
        for rank, own, other, operation in ((0, "a", "b", "barrier"), (1, "b", "a", "broadcast"))
    ]
    stall = find_stall(traces, 2)
    assert stall is not None
    assert (stall.kind, stall.culprits, stall.is_tied) == (StallKind.ORDER, (0, 1), True)
    assert describe_stall(stall) == (
        "rank 0 and rank 1 wait for each other: rank 0 in barrier, number 1 of group a, and rank 1 "
        "in broadcast, number 1 of group b"
    )


STEP = ("all_reduce", "broadcast", "reduce")


def stall_of_pair(first: Sequence[str], second: Sequence[str], done: int) -> Stall | None:
    """Return the stall of two ranks with these calls, of which the first ones are done."""
    pair = ProcessGroup("0", "0", "default_pg", (0, 1))
    traces = [
        RankTrace(
            rank,
            (pair,),
            (GroupProgress("0", len(made), done),),
            tuple(call(at, one, is_done=at <= done) for at, one in enumerate(made, 1)),
        )
        for rank, made in enumerate((first, second))
    ]
    return find_stall(traces, 2)


@pytest.mark.parametrize("left_out", [0, 1, 2])
def test_rank_that_leaves_its_steps(left_out: int) -> None:
    """Of two ranks, the one that leaves the order of its own earlier steps is named."""
    later = [one for at, one in enumerate(STEP * 2) if at != left_out]
    stall = stall_of_pair((*STEP * 5, STEP[0]), (*STEP * 4, *later[:3]), 12 + left_out)
    assert stall is not None
    assert (stall.culprits, stall.is_tied, stall.has_departed) == ((1,), False, True)
    assert stall.difference is Difference.SKIPPED
    words = (later[left_out], STEP[left_out])
    assert describe_stall(stall).startswith("rank 1 called {} of 8 elements where the other ranks "
        "called {} of 8 elements".format(*words))  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((*STEP * 4, "all_reduce"), (*STEP * 4, "barrier")),
        ((*STEP, "all_reduce"), (*STEP, "reduce")),
        (("all_reduce",), ("broadcast",)),
    ],
    ids=["a new call", "after one step", "at once"],
)
def test_unknown_order(first: Sequence[str], second: Sequence[str]) -> None:
    """A call that was never made before, or too few steps, do not show which rank is odd."""
    stall = stall_of_pair(first, second, len(first) - 1)
    assert stall is not None
    assert (stall.culprits, stall.is_tied) == ((0, 1), True)


@pytest.mark.parametrize(
    ("operation", "inputs", "outputs"),
    [
        ("all_to_all", ((3,),), ((5,),)),
        ("all_gather", ((3,),), ((8,),)),
        ("reduce_scatter", ((8,),), ((3,),)),
        ("scatter", (), ((8,),)),
        ("gather", ((8,),), ()),
        ("_broadcast_oop", ((3,),), ((8,),)),
        ("_reduce_oop", ((8,),), ((3,),)),
    ],
)
def test_sizes_that_may_differ(
    operation: str, inputs: tuple[tuple[int, ...], ...], outputs: tuple[tuple[int, ...], ...]
) -> None:
    """Operations whose sizes may differ between ranks are no mismatch."""
    usual = [trace(rank, [call(1, operation)]) for rank in range(3)]
    other = trace(3, [call(1, operation, input_sizes=inputs, output_sizes=outputs)])
    stall = find_stall([*usual, other], 4)
    assert stall is not None
    assert stall.kind is StallKind.TRANSFER


def test_batch_of_calls() -> None:
    """The entry of a batch, which only some ranks have at that place, is no mismatch."""
    usual = [trace(rank, [call(1)]) for rank in range(3)]
    other = trace(3, [call(1), call(1, "coalesced")])
    stall = find_stall([*usual, other], 4)
    assert stall is not None
    assert stall.kind is StallKind.TRANSFER


def test_other_shape_of_one_size() -> None:
    """A tensor of another shape with as many elements is no mismatch."""
    usual = [trace(rank, [call(1)]) for rank in range(3)]
    other = trace(3, [call(1, input_sizes=((4, 2),), output_sizes=((2, 4),))])
    stall = find_stall([*usual, other], 4)
    assert stall is not None
    assert stall.kind is StallKind.TRANSFER


def test_call_left_out() -> None:
    """A rank that left out one call is named with that, if later calls show it."""
    operations = ["all_reduce", "broadcast", "barrier"]
    usual = [
        trace(rank, [call(at + 1, one) for at, one in enumerate(operations)]) for rank in range(3)
    ]
    other = trace(3, [call(at + 1, one) for at, one in enumerate(operations[1:])])
    stall = find_stall([*usual, other], 4)
    assert stall is not None
    assert (stall.culprits, stall.difference) == ((3,), Difference.SKIPPED)


def test_receiver_waits_for_its_sender() -> None:
    """A rank that receives from one that does not send waits for it, and others for the first."""
    waits = call(1, "recv", peer=2)
    traces = [trace(0, [call(1)]), trace(1, [waits]), trace(2, []), trace(3, [call(1)])]
    stall = find_stall(traces, 4)
    assert stall is not None
    assert (stall.kind, stall.culprits) == (StallKind.MISSING, (2,))
    assert stall.waiting == (0, 1, 3)


def test_sender_and_receiver() -> None:
    """A transfer in which both ends take part is no rank's fault."""
    traces = [trace(0, [call(1, "send", peer=1)]), trace(1, [call(1, "recv", peer=0)])]
    stall = find_stall(traces)
    assert stall is not None
    assert (stall.kind, stall.culprits) == (StallKind.TRANSFER, ())
