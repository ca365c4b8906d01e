"""Groups of ranks, and the ranks that the others wait for."""

from __future__ import annotations

from random import Random

import pytest

from gpualert_common.processes.rank_names import format_numbers
from gpualert_common.stacks.culprits import Culprits, find_culprits
from gpualert_common.stacks.description import describe_culprits
from gpualert_common.stacks.dump import Dump, Wait, WaitKind
from gpualert_common.stacks.groups import group_processes, rank_of
from gpualert_common.stacks.reasons import HangReason, explain_hang
from gpualert_common.structs import replace
from tests.stacks.composed import (
    Place,
    Variant,
    backward,
    collective,
    compiled,
    in_own_code,
    make_dump,
)

VARIANTS = 200


def culprits_of(dump: Dump) -> Culprits:
    """Return the culprits of a dump."""
    return find_culprits(dump, group_processes(dump))


def ranks_of(found: Culprits) -> set[int]:
    """Return the numbers of the ranks that are named."""
    ranks = {int(rank_of(one)) for group in found.groups for one in group.processes}
    return ranks | set(found.missing)


def others(count: int, place: Place, **culprits: Place) -> dict[int, Place]:
    """Return the places of so many ranks, all at one place but for ``rank_N``."""
    found = dict.fromkeys(range(count), place)
    return {**found, **{int(name.removeprefix("rank_")): one for name, one in culprits.items()}}


def test_one_rank_asleep() -> None:
    """Seven ranks wait in a collective for the one that sleeps in the user's code."""
    dump = make_dump(others(8, collective(), rank_3=in_own_code()))
    assert describe_culprits(culprits_of(dump)) == (
        "ranks 0-2, 4-7 wait in all_reduce at train (train.py:120) for rank 3, which sleeps at "
        "load (data.py:33)"
    )


def test_backward_pass() -> None:
    """Ranks in a backward pass wait for a rank that is elsewhere; alone they may compute."""
    assert ranks_of(culprits_of(make_dump(others(4, backward(), rank_0=in_own_code())))) == {0}
    assert culprits_of(make_dump(others(4, backward()))) == Culprits()


def test_stopped_in_a_collective() -> None:
    """A rank that is stopped at the same place as all others is the one they wait for."""
    stopped = (collective()[0], Wait(WaitKind.STOPPED, "is stopped by a signal"))
    assert ranks_of(culprits_of(make_dump(others(4, collective(), rank_2=stopped)))) == {2}


def test_all_in_one_collective() -> None:
    """None of the ranks is named if all of a machine wait in one operation."""
    found = culprits_of(make_dump(others(4, collective())))
    assert ranks_of(found) == set()
    assert not found.is_mismatch
    assert "no rank of this machine is elsewhere" in describe_culprits(found)


def test_different_collectives() -> None:
    """Ranks in different operations wait for each other: an error of the program."""
    found = culprits_of(make_dump(others(4, collective(), rank_1=collective("broadcast", 50))))
    assert found.is_mismatch
    assert ranks_of(found) == set()
    assert describe_culprits(found) == (
        "the ranks wait for each other in different operations: ranks 0, 2-3 are in all_reduce at "
        "train (train.py:120); rank 1 is in broadcast at train (train.py:50)"
    )


def test_missing_rank() -> None:
    """A rank of this machine that the launcher announced and that has no process is named."""
    places = others(4, collective())
    del places[2]
    found = culprits_of(make_dump(places, world_size=4))
    assert found.missing == (2,)
    assert describe_culprits(found).endswith("for rank 2, which has no process any more")


def with_jax(dump: Dump) -> Dump:
    """Return a dump whose processes have loaded JAX."""
    return replace(dump, processes=tuple(replace(one, has_jax=True) for one in dump.processes))


def test_compiled_computation() -> None:
    """Ranks in a computation of JAX wait for the one that is elsewhere; alone they may compute."""
    dump = with_jax(make_dump(others(4, compiled(), rank_1=in_own_code())))
    assert describe_culprits(culprits_of(dump)) == (
        "ranks 0, 2-3 wait in a computation at train (train.py:130) for rank 1, which sleeps at "
        "load (data.py:33)"
    )
    assert culprits_of(with_jax(make_dump(others(4, compiled())))) == Culprits()


@pytest.mark.parametrize("code", ["with lock:", "lock.acquire()"])
def test_lock_beside_jax(code: str) -> None:
    """A lock in the user's own code is no computation."""
    dump = make_dump(others(2, compiled(code), rank_1=in_own_code()))
    assert culprits_of(with_jax(dump)) == Culprits()


def test_processes_without_ranks() -> None:
    """Without ranks the processes of one program count, neither launchers nor what they start."""
    places = {0: collective(), 1: in_own_code(), 2: in_own_code("launch"), 3: in_own_code("read")}
    dump = make_dump(places)
    parents = {0: 102, 1: 102, 2: 1, 3: 101}
    processes = tuple(
        replace(one, label="", parent=parents[number], command=f"python -u train.py {number}")
        for number, one in enumerate(dump.processes)
    )
    found = culprits_of(replace(dump, processes=processes))
    assert [one.pid for group in found.groups for one in group.processes] == [101]
    assert describe_culprits(found) == (
        "process 100 (python) waits in all_reduce at train (train.py:120) for process 101 "
        "(python), which sleeps at load (data.py:33)"
    )


def test_process_that_exited() -> None:
    """A process beside them that has exited is the one that the others wait for."""
    gone: Place = ((), Wait(WaitKind.EXITED, "has exited"))
    dump = make_dump({0: collective(), 1: gone})
    processes = tuple(replace(one, label="", command="") for one in dump.processes)
    dump = replace(dump, processes=processes)
    assert describe_culprits(culprits_of(dump)).endswith(
        "for process 101 (python), which has exited"
    )
    explanation = explain_hang(dump)
    assert explanation is not None
    assert explanation.reason is HangReason.MISSING_RANK


def test_nobody_waits() -> None:
    """Ranks that compute at different places wait for nobody."""
    places = {rank: in_own_code("step", WaitKind.RUNS, 10 + rank) for rank in range(4)}
    assert culprits_of(make_dump(places)) == Culprits()


def test_label_that_is_no_rank() -> None:
    """A process whose label has no number is no rank, and named by its number."""
    dump = make_dump({0: collective()})
    named = replace(dump.processes[0], label="rank:one")
    assert rank_of(named) == ""
    found = describe_culprits(culprits_of(replace(dump, processes=(named,))))
    assert found == (
        "process 100 (python) is in all_reduce at train (train.py:120); no process of this machine "
        "is elsewhere"
    )


def test_random_variants() -> None:
    """Of 200 variants with up to 1,024 ranks at least 99 % have the right culprits, and no innocent
    rank is named in more than 0.5 %."""
    right = innocent = 0
    for number in range(VARIANTS):
        variant = Variant(Random(number))
        named = ranks_of(culprits_of(variant.dump))
        right += named == variant.culprits
        innocent += bool(named - variant.culprits)
    assert right >= 0.99 * VARIANTS
    assert innocent <= 0.005 * VARIANTS


@pytest.mark.parametrize(
    ("numbers", "text"), [((3,), "3"), ((0, 1, 2), "0-2"), ((7, 0, 2, 1, 5, 4), "0-2, 4-5, 7")]
)
def test_numbers(numbers: tuple[int, ...], text: str) -> None:
    """Numbers are written as ranges."""
    assert format_numbers(numbers) == text
