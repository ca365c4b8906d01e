"""Runs whose ranks wait for others in a collective, and runs that only resemble them."""

from __future__ import annotations

from random import Random
from typing import Any

from gpualert_common.collectives.stall import Difference, Stall, StallKind
from gpualert_common.collectives.stall_text import describe_stall
from gpualert_common.structs import to_builtins
from gpualert_common.telemetry.source import SourceEvent
from tests.scenarios.catalogue import near_miss, scenario
from tests.scenarios.hangs import TIMEOUT
from tests.scenarios.scene import Card, Scene, steps

_TIMED_OUT = (
    "[rank0]:[E1120 10:00:00.100 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective"
    " operation timeout: WorkNCCL(SeqNum=610, OpType=ALLREDUCE, NumelIn=1307346, NumelOut=1307346,"
    " Timeout(ms)=600000) ran for 600235 milliseconds before timing out.\n"
)


def _stall(chance: Random, kind: StallKind = StallKind.MISSING, **more: Any) -> Stall:
    world = chance.choice((2, 4, 8, 64))
    culprit = chance.randrange(world)
    waiting = tuple(rank for rank in range(world) if rank != culprit)
    call = "all_reduce of 1024 elements (Float)"
    return Stall(kind, (culprit,), waiting, "default_pg", 610, call, traced=world, **more)


def _event(stall: Stall, **more: Any) -> SourceEvent:
    fields = {**to_builtins(stall), **more}
    return SourceEvent("collective_stall", "job", describe_stall(stall), fields)


def _hangs(chance: Random, stall: Stall, source: str = "flight_recorder", **more: Any) -> Scene:
    """Return a run that prints nothing more, with its GPUs busy, until the time limit."""
    silent_s = chance.uniform(700.0, 2500.0)
    at = 1.0 - silent_s / 3600.0
    seen = at + 0.15
    events = [(source, seen, _event(stall))]
    cores = steps((0.0, 2.0), (at, 0.01))
    values = {"cards": [Card()], "silent_s": silent_s, "cores": cores, "events": events}
    return Scene(**{**TIMEOUT, **values, **more})


@scenario("C2", "collective")
def asleep_until_the_limit(chance: Random) -> Scene:
    """A rank never entered the collective; the GPUs of the others spin until the time limit."""
    return _hangs(chance, _stall(chance))


@scenario("C2", "collective")
def asleep_by_ras(chance: Random) -> Scene:
    """The same, by two readings of RAS."""
    return _hangs(chance, _stall(chance), "nccl_ras")


@scenario("C2", "collective")
def transfer_until_the_limit(chance: Random) -> Scene:
    """All ranks entered the collective."""
    stall = Stall(StallKind.TRANSFER, (), (0, 1, 2, 3), "default_pg", 9, "all_reduce", traced=4)
    return _hangs(chance, stall)


@scenario("C2", "collective")
def mismatch_in_the_dumps(chance: Random) -> Scene:
    """The watchdog gives up; the dumps show another call on one rank."""
    stall = _stall(chance, StallKind.MISMATCH, difference=Difference.SIZE, other_call="broadcast")
    events = [("flight_recorder", 0.99, _event(stall))]
    return Scene(log=_TIMED_OUT, code=1, cards=[Card()], events=events, attribution="job")


@scenario("C2", "collective", real_s=7)
def behind_by_the_watchdogs(chance: Random) -> Scene:
    """The numbers of the watchdogs show the rank that is behind."""
    behind = chance.randrange(1, 8)
    lines = [
        f"[rank{rank}]:[E1120 10:00:01.{rank}00 ProcessGroupNCCL.cpp:1987]"
        f" [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Received a dump signal due to a collective"
        " timeout from  rank 0 and we will try our best to dump the debug info. Last enqueued NCCL"
        f" work: {609 if rank == behind else 610 + rank % 3}, last completed NCCL work: 609.\n"
        for rank in range(8)
    ]
    return Scene(log=_TIMED_OUT + "".join(lines), code=1, cards=[Card()])


@scenario("C2", "collective", real_s=7)
def one_watchdog_gave_up(_chance: Random) -> Scene:
    """Only the watchdog of one rank reports, without the numbers of the others."""
    return Scene(log=_TIMED_OUT, code=1, cards=[Card()])


@near_miss("C2", "time_limit")
def waited_and_went_on(chance: Random) -> Scene:
    """An early stall that passed: it printed until the end."""
    events = [("nccl_ras", 0.3, _event(_stall(chance)))]
    return Scene(cards=[Card()], silent_s=chance.uniform(1.0, 60.0), events=events, **TIMEOUT)  # type: ignore[arg-type]


@near_miss("C2", "time_limit", real_s=7)
def silent_without_a_stall(chance: Random) -> Scene:
    """It prints once an hour, and no rank waits for another one."""
    return Scene(cards=[Card()], silent_s=chance.uniform(600, 3000), **TIMEOUT)  # type: ignore[arg-type]


@near_miss("C2", "time_limit")
def stall_of_a_later_release(chance: Random) -> Scene:
    """An event that this release does not understand."""
    scene = _hangs(chance, _stall(chance))
    event = _event(_stall(chance), kind="another")
    scene.events = [("flight_recorder", scene.events[0][1], event)]
    return scene


@near_miss("C2", "cuda_oom", family="B1", real_s=7)
def waited_for_a_failed_rank(_chance: Random) -> Scene:
    """A rank ran out of memory; the watchdog of another one waited for it."""
    log = (
        "[rank1]: Traceback (most recent call last):\n"
        '[rank1]:   File "train.py", line 7, in <module>\n'
        "[rank1]:     loss.backward()\n"
        "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has"
        " a total capacity of 79.20 GiB of which 1.10 GiB is free.\n"
    )
    return Scene(log=log + _TIMED_OUT, code=1)


@near_miss("C2", "none", family="G1", health="unverifiable")
def stall_at_the_end_of_a_good_run(chance: Random) -> Scene:
    """Ranks waited for one that saved the model, and then it completed."""
    return Scene(events=[("nccl_ras", 0.9, _event(_stall(chance)))])
