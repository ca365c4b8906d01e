"""Runs that hang until they are ended, and runs that were working."""

from __future__ import annotations

from random import Random

from gpualert_common.stacks.dump import Dump, WaitKind
from tests.scenarios.catalogue import near_miss, scenario
from tests.scenarios.logs import some_steps
from tests.scenarios.scene import Card, Scene, steps
from tests.stacks.composed import Place, collective, in_own_code, make_dump

TIMEOUT = {"limit": "time", "signal": 15, "code": -15}


def _stands_still(chance: Random, **more: object) -> Scene:
    silent_s = chance.uniform(300.0, 3000.0)
    at = 1.0 - silent_s / 3600.0
    stop = steps((0.0, 90.0), (at, 0.0))
    cards = [Card(load=stop) for _ in range(chance.choice((1, 2, 8)))]
    cores = steps((0.0, 2.0), (at, chance.uniform(0.0, 0.02)))
    return Scene(cards=cards, silent_s=silent_s, cores=cores, **{**TIMEOUT, **more})  # type: ignore[arg-type]


@scenario("C3", "idle_hang")
def stuck_loader(chance: Random) -> Scene:
    """It makes no progress until the time limit."""
    return _stands_still(chance)


@scenario("C3", "idle_hang")
def stuck_before_the_first_step(chance: Random) -> Scene:
    """It never printed a step."""
    return _stands_still(chance, log="loading data\n")


@scenario("C3", "idle_hang")
def stuck_without_a_gpu(chance: Random) -> Scene:
    """A hang of a run on the CPU alone."""
    scene = _stands_still(chance)
    scene.cards = ()
    return scene


@scenario("C3", "idle_hang")
def stuck_unseen_by_nvml(chance: Random) -> Scene:
    """A hang without NVML."""
    return _stands_still(chance, missing=["nvml"])


@scenario("C3", "idle_hang")
def stuck_and_deaf(chance: Random) -> Scene:
    """It had to be killed."""
    return _stands_still(chance, code=-9)


def _stands_still_for_minutes(chance: Random) -> Scene:
    """Return a run of three minutes that stands still for more than two of them."""
    seconds = 180.0
    silent_s = chance.uniform(130.0, 160.0)
    at = 1.0 - silent_s / seconds
    cards = [Card(load=steps((0.0, 90.0), (at, 0.0))) for _ in range(chance.choice((1, 2)))]
    cores = steps((0.0, 1.0), (at, chance.uniform(0.0, 0.02)))
    log = some_steps(chance)
    return Scene(
        log=log,
        cards=cards,
        seconds=seconds,
        silent_s=silent_s,
        cores=cores,
        **TIMEOUT,  # type: ignore[arg-type]
    )


@scenario("C3", "idle_hang", real_s=180)
def stuck_for_minutes(chance: Random) -> Scene:
    """A hang that a short time limit ends."""
    return _stands_still_for_minutes(chance)


@scenario("C3", "idle_hang", real_s=180)
def stuck_for_minutes_on_the_processor(chance: Random) -> Scene:
    """The same without a GPU."""
    scene = _stands_still_for_minutes(chance)
    scene.cards = ()
    return scene


@near_miss("C3", "time_limit", real_s=180)
def at_work(chance: Random) -> Scene:
    """It printed steps to the end."""
    return Scene(cards=[Card()], silent_s=chance.uniform(0.1, 60.0), **TIMEOUT)  # type: ignore[arg-type]


@near_miss("C3", "time_limit", real_s=180)
def silent_and_at_work(chance: Random) -> Scene:
    """It prints once an hour, and computes."""
    return Scene(cards=[Card()], silent_s=chance.uniform(600, 3000), **TIMEOUT)  # type: ignore[arg-type]


@near_miss("C3", "time_limit")
def silent_on_the_processor(chance: Random) -> Scene:
    """It prepares data for an hour on the CPU."""
    load = steps((0.0, 0.0))
    silent_s = chance.uniform(600, 3000)
    cores = steps((0.0, chance.uniform(0.9, 16.0)))
    return Scene(cards=[Card(load=load)], silent_s=silent_s, cores=cores, **TIMEOUT)  # type: ignore[arg-type]


@near_miss("C3", "time_limit", real_s=180)
def silent_on_the_gpu(chance: Random) -> Scene:
    """Its processes wait for a GPU that works."""
    silent_s = chance.uniform(600, 3000)
    return Scene(cards=[Card()], silent_s=silent_s, cores=steps((0.0, 0.01)), **TIMEOUT)  # type: ignore[arg-type]


@near_miss("C3", "time_limit")
def nobody_looked(chance: Random) -> Scene:
    """Only the log is known."""
    missing = ["nvml", "processes", "kernel_log", "cgroup"]
    return Scene(silent_s=chance.uniform(600, 3000), missing=missing, **TIMEOUT)  # type: ignore[arg-type]


def stands_while_busy(chance: Random, *dumps: Dump, **more: object) -> Scene:
    """Return a run whose ranks keep processors and GPUs busy while they print nothing."""
    silent_s = chance.uniform(300.0, 3000.0)
    cores = steps((0.0, chance.uniform(1.0, 8.0)))
    taken = [(60.0 - 30.0 * number, dump) for number, dump in enumerate(dumps)]
    options: dict[str, object] = {**TIMEOUT, "cores": cores, **more}
    return Scene(cards=[Card(), Card()], silent_s=silent_s, dumps=taken, **options)  # type: ignore[arg-type]


def ranks_of(chance: Random, *culprits: Place, gone: int = 0) -> dict[int, Place]:
    """Return the places of ranks in a collective, of which some are elsewhere or gone."""
    size = chance.choice((2, 4, 8))
    places = dict.fromkeys(range(size), collective())
    for rank, place in zip(chance.sample(range(size), len(culprits)), culprits, strict=True):
        places[rank] = place
    for rank in chance.sample(range(size), gone):
        del places[rank]
    return places


@scenario("C3", "idle_hang")
def rank_asleep(chance: Random) -> Scene:
    """Ranks wait in a collective for one that sleeps in the user's code."""
    dump = make_dump(ranks_of(chance, in_own_code()))
    return stands_while_busy(chance, dump, dump)


@scenario("C3", "idle_hang")
def rank_in_a_loop(chance: Random) -> Scene:
    """Ranks wait for one that computes at one line without an end."""
    places = ranks_of(chance, in_own_code("spin", WaitKind.RUNS))
    first, second = make_dump(places), make_dump(places, cpu_s=29.0)
    scene = stands_while_busy(chance, first, second)
    scene.silent_s = chance.uniform(700.0, 3000.0)
    return scene


@near_miss("C3", "time_limit")
def evaluating_rank(chance: Random) -> Scene:
    """Ranks wait for one that evaluates, at another place in each dump."""
    ranks = ranks_of(chance)
    first = {**ranks, 0: in_own_code("evaluate", WaitKind.RUNS, 40)}
    second = {**ranks, 0: in_own_code("measure", WaitKind.RUNS, 60)}
    return stands_while_busy(chance, make_dump(first), make_dump(second))
