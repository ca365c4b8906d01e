"""Runs ended by a scheduler, at a limit or by a person, and runs that ended by themselves."""

from __future__ import annotations

from random import Random

from tests.scenarios.catalogue import near_miss, scenario
from tests.scenarios.logs import falling, plain, some_steps, traceback
from tests.scenarios.scene import Card, Scene, steps

SLURM = "slurmstepd: error: *** JOB {job} ON {node} CANCELLED AT 2026-11-20T09:33:58 {why} ***\n"


def _cards(chance: Random) -> list[Card]:
    return [Card() for _ in range(chance.choice((0, 1, 4, 8)))]


def print_cancellation(chance: Random, why: str) -> str:
    """Return the line with which Slurm ends a job, for this reason."""
    job, node = chance.randint(10**4, 10**7), f"gpu{chance.randint(1, 400):03d}"
    return SLURM.format(job=job, node=node, why=why)


@scenario("F2", "preempted", real_s=7)
def preempted_byprint_cancellation(chance: Random) -> Scene:
    """Slurm needs its nodes for a job with higher priority."""
    log = some_steps(chance) + print_cancellation(chance, "DUE TO PREEMPTION")
    return Scene(log=log, code=chance.choice((-15, 143, 1)), signal=15, cards=_cards(chance))


@scenario("F2", "preempted")
def worker_drained(chance: Random) -> Scene:
    """The engine reports that its worker stops."""
    sender = {"pid": 1, "meant_as": "preempted", "because": "the worker was told to stop"}
    code = chance.choice((-15, 0, 143))
    return Scene(log=some_steps(chance), code=code, signal=15, sender=sender, cards=_cards(chance))


@scenario("F2", "preempted")
def pod_evicted(chance: Random) -> Scene:
    """A pod is evicted; the training saves and exits with 0."""
    sender = {"pid": 1, "meant_as": "preempted", "because": "the pod was evicted"}
    log = some_steps(chance) + "received SIGTERM, saving\nsaved\n"
    return Scene(log=log, code=0, signal=15, sender=sender, cards=_cards(chance))


@scenario("F2", "preempted")
def killed_after_its_grace(chance: Random) -> Scene:
    """It does not exit in time, and is killed."""
    sender = {"pid": 1, "meant_as": "preempted", "because": "the worker was told to stop"}
    return Scene(log=some_steps(chance), code=-9, signal=15, sender=sender, cards=_cards(chance))


@scenario("F2", "cancelled", real_s=7)
def stopped_by_a_person(chance: Random) -> Scene:
    """A person presses Ctrl-C, or stops the task in the engine."""
    number = chance.choice((2, 15))
    sender = {"pid": 77, "meant_as": "cancelled", "because": "somebody stopped the task"}
    log = some_steps(chance)
    if number == 2:
        log += traceback("KeyboardInterrupt", "main", "step")
    code = chance.choice((-number, 128 + number))
    return Scene(log=log, code=code, signal=number, sender=sender, cards=_cards(chance))


@near_miss("F2", "traceback", family=None, real_s=7)
def failed_before_it_was_told(chance: Random) -> Scene:
    """A bug ended it; the scheduler only cleaned up afterwards."""
    log = some_steps(chance) + traceback("KeyError: 'x'", "main", "step")
    return Scene(log=log, code=1, cards=_cards(chance))


@near_miss("F2", "none", real_s=7)
def outlived_a_notice(chance: Random) -> Scene:
    """A notice was withdrawn, and it trained on to its end."""
    last = chance.choice((200, 1000))
    log = "WARNING: preemption notice received, saving a checkpoint\n"
    log += plain(falling(chance), range(1, last + 1, 5), last)
    return Scene(log=log, cards=_cards(chance))


@near_miss("F2", "killed_unknown", real_s=7)
def killed_without_a_word(chance: Random) -> Scene:
    """The reason of the stop is unknown."""
    return Scene(log=some_steps(chance), code=-9, cards=_cards(chance))


@near_miss("F2", "segfault", real_s=7)
def crashed_natively(chance: Random) -> Scene:
    """A signal that no process sent."""
    log = some_steps(chance) + "Fatal Python error: Segmentation fault\n"
    return Scene(log=log, code=chance.choice((-11, 139)), cards=_cards(chance))


@near_miss("F2", "time_limit", real_s=7)
def at_the_limit_ofprint_cancellation(chance: Random) -> Scene:
    """It reached its time limit, which is not a preemption."""
    log = some_steps(chance) + print_cancellation(chance, "DUE TO TIME LIMIT")
    return Scene(log=log, code=chance.choice((-15, 143)), signal=15, cards=_cards(chance))


@scenario("F3", "time_limit", real_s=7)
def at_our_limit(chance: Random) -> Scene:
    """Our own limit ends it while it works."""
    code = chance.choice((-15, 0, -9))
    silent_s = chance.uniform(0, 100)
    return Scene(
        log=some_steps(chance),
        code=code,
        limit="time",
        signal=15,
        silent_s=silent_s,
        cards=_cards(chance),
    )


@scenario("F3", "time_limit", real_s=7)
def at_slurms_limit(chance: Random) -> Scene:
    """The scheduler's limit ends it."""
    log = some_steps(chance) + print_cancellation(chance, "DUE TO TIME LIMIT")
    return Scene(log=log, code=chance.choice((-15, 143, -9)), signal=15, cards=_cards(chance))


@scenario("F3", "time_limit")
def silent_at_the_limit(chance: Random) -> Scene:
    """It prints once an epoch, and works."""
    load = steps((0.0, chance.uniform(5, 99)))
    silent_s = chance.uniform(120, 3000)
    cards = [Card(load=load) for _ in range(chance.choice((1, 8)))]
    return Scene(code=-15, limit="time", signal=15, silent_s=silent_s, cards=cards)


@scenario("F3", "time_limit")
def evaluating_at_the_limit(chance: Random) -> Scene:
    """It evaluates on the CPU."""
    cores = steps((0.0, 1.0), (0.7, chance.uniform(0.2, 32)))
    return Scene(
        log=some_steps(chance) + "evaluating\n",
        code=-15,
        limit="time",
        signal=15,
        silent_s=chance.uniform(100, 1000),
        cores=cores,
    )


@scenario("F3", "time_limit", real_s=7)
def does_not_heed_the_limit(chance: Random) -> Scene:
    """It had to be killed."""
    return Scene(log=some_steps(chance), code=-9, limit="time", signal=15, cards=_cards(chance))


@near_miss("F3", "idle_hang")
def stood_still_until_the_limit(chance: Random) -> Scene:
    """The limit ends a run that hangs."""
    silent_s = chance.uniform(300, 3000)
    at = 1.0 - silent_s / 3600.0
    cards = [Card(load=steps((0.0, 90.0), (at, 0.0)))]
    cores = steps((0.0, 1.5), (at, chance.uniform(0, 0.02)))
    return Scene(code=-15, limit="time", signal=15, silent_s=silent_s, cards=cards, cores=cores)


@near_miss("F3", "traceback", family=None, real_s=7)
def failed_shortly_before(chance: Random) -> Scene:
    """A bug of its own in the last minute."""
    log = some_steps(chance) + traceback("KeyError: 'x'", "main", "step")
    return Scene(log=log, code=1, cards=_cards(chance))


@near_miss("F3", "none", real_s=7)
def ended_in_time(chance: Random) -> Scene:
    """It completed before the limit."""
    last = chance.choice((200, 1000))
    log = "time limit is 3600 s\n" + plain(falling(chance), range(1, last + 1, 5), last)
    return Scene(log=log, cards=_cards(chance))


@near_miss("F3", "cancelled")
def stopped_shortly_before(chance: Random) -> Scene:
    """A person stopped it before the limit."""
    sender = {"pid": 77, "meant_as": "cancelled", "because": "somebody stopped it"}
    return Scene(log=some_steps(chance), code=-15, signal=15, sender=sender, cards=_cards(chance))


@near_miss("F3", "collective", real_s=7)
def collective_gave_up(chance: Random) -> Scene:
    """A time-out of a collective is not a time limit."""
    rank = chance.randint(0, 7)
    log = some_steps(chance) + (
        f"[rank{rank}]:[E1120 09:33:58.904 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=81, OpType=ALLREDUCE, NumelIn=1024, "
        "NumelOut=1024, Timeout(ms)=600000) ran for 600041 milliseconds before timing out.\n"
    )
    return Scene(log=log, code=chance.choice((-6, 134, 1)), cards=_cards(chance))
