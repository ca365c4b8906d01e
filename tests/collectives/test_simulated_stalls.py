"""Simulated stalls: the culprits are right, and no innocent rank is named."""

from __future__ import annotations

import pytest

from gpualert_common.collectives.analysis import find_stall
from gpualert_common.collectives.stall import Difference, StallKind
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
    """In two variants of each fault, every decided culprit is right."""
    total = Tally()
    for one in tally_variants(range(2 * len(FAULTS)), SMALL).values():
        total.add(one)
    assert not total.wrong
    assert not total.innocent
    assert total.right + total.undecided == total.runs


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
