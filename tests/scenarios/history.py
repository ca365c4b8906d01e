"""Runs that only a comparison with earlier runs can classify, and runs that resemble them.

The earlier runs have the same command and machine, three to five times with small variations.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.scenarios.catalogue import near_miss, scenario
from tests.scenarios.logs import falling
from tests.scenarios.scene import Card, Scene, flat

SECONDS = 600.0
STEP_MS = 400.0
STEPS = 600
OTHER = "NVIDIA A100-SXM4-80GB"


def printed(
    chance: Random,
    *,
    slower: float = 1.0,
    steps: int = STEPS,
    first: int = 10,
    total: int | None = None,
    every: int = 0,
) -> str:
    """Return Megatron-LM's output every ten steps, each ``times`` as long as usual; it saves every
    ``every`` steps."""
    loss = falling(chance)
    lines = []
    for step in range(first, steps + 1, 10):
        took_ms = STEP_MS * slower * chance.uniform(0.93, 1.07)
        lines.append(
            f" iteration {step:8d}/{total or steps:8d} | consumed samples: {step * 64:12d} |"
            f" elapsed time per iteration (ms): {took_ms:.1f} | learning rate: 1.5E-04 |"
            f" global batch size:    64 | lm loss: {loss(step / STEPS):.6E} | loss scale: 1.0 |"
            f" grad norm: {chance.uniform(0.5, 2):.3f} | number of skipped iterations:   0 |"
            " number of nan iterations:   0 |\n"
        )
        if every and step % every == 0:
            lines.append(f"  successfully saved checkpoint from iteration {step:7d} to /ckpt\n")
    return "".join(lines)


def without_total(chance: Random, steps: int) -> str:
    """Return the output of a custom loop."""
    loss = falling(chance)
    return "".join(f"step {step}: loss {loss(step / STEPS):.4f}\n" for step in range(1, steps + 1))


def tokens(chance: Random, rate: float) -> str:
    """Return the output of torchtitan."""
    loss = falling(chance)
    return "".join(
        f"[rank0]:[titan] 2026-11-20 10:{step // 60:02d}:{step % 60:02d},100 - root - INFO - "
        f"step: {step:2d}  loss: {loss(step / 300):.4f}  grad_norm: 1.02  memory: 40.1GiB(50.7%)  "
        f"tps: {int(rate * chance.uniform(0.95, 1.05)):,}  tflops: 210.50  mfu: 21.28%\n"
        for step in range(1, 301)
    )


def cards(chance: Random, load: tuple[float, float] = (84.0, 96.0), count: int = 1) -> list[Card]:
    """Return this number of GPUs with their utilization."""
    return [Card(load=flat(chance.uniform(*load))) for _ in range(count)]


def often(
    chance: Random, one: Callable[[Random], Scene], times: tuple[int, int] = (3, 5)
) -> list[Scene]:
    """Return earlier runs, each made by ``one``."""
    return [one(chance) for _ in range(chance.randint(*times))]


def usual(chance: Random, count: int = 1) -> Scene:
    """Return a typical run."""
    return Scene(log=printed(chance), cards=cards(chance, count=count), seconds=SECONDS)


def slow(chance: Random, load: tuple[float, float], **more: object) -> Scene:
    """Return a run that took far longer than several earlier ones."""
    fields: dict[str, object] = {
        "log": printed(chance, slower=chance.uniform(1.8, 5.0)),
        "cards": cards(chance, load),
        "seconds": SECONDS,
        "earlier": often(chance, usual),
        **more,
    }
    return Scene(**fields)  # type: ignore[arg-type]


# -- D1 ------------------------------------------------------------------------------------------


@scenario("D1", "under_utilization")
def waits_for_data(chance: Random) -> Scene:
    """A GPU that worked 90 % of the time is idle for half of it, and steps take longer."""
    return slow(chance, (25.0, 55.0))


@scenario("D1", "under_utilization")
def all_wait_for_data(chance: Random) -> Scene:
    """The same with eight GPUs."""
    before = often(chance, lambda chance: usual(chance, 8))
    return slow(chance, (25.0, 55.0), cards=cards(chance, (25.0, 55.0), 8), earlier=before)


@scenario("D1", "under_utilization")
def waits_for_fewer_processors(chance: Random) -> Scene:
    """Its loader has a quarter of the earlier CPUs."""

    def before(chance: Random) -> Scene:
        scene = usual(chance)
        scene.given = {"cpus_allowed": 32}
        return scene

    given = {"cpus_allowed": chance.choice((2, 4, 8))}
    return slow(chance, (20.0, 50.0), given=given, earlier=often(chance, before))


@scenario("D1", "under_utilization")
def fewer_tokens(chance: Random) -> Scene:
    """It reports its throughput, not the time of a step."""
    rate = chance.uniform(5000, 50000)

    def before(chance: Random) -> Scene:
        return Scene(log=tokens(chance, rate), cards=cards(chance), seconds=SECONDS)

    log = tokens(chance, rate / chance.uniform(1.8, 4.0))
    return slow(chance, (20.0, 55.0), log=log, earlier=often(chance, before))


@near_miss("D1", "none", health="healthy_slow")
def slower_and_as_busy(chance: Random) -> Scene:
    """Steps take longer while the GPU is as busy as before: it does not wait."""
    return slow(chance, (84.0, 96.0))


@near_miss("D1", "none")
def less_load_as_fast(chance: Random) -> Scene:
    """A faster kernel leaves the GPU idle for longer, and steps take no longer."""
    return slow(chance, (30.0, 60.0), log=printed(chance, slower=chance.uniform(0.6, 1.1)))


@near_miss("D1", "none")
def two_before(chance: Random) -> Scene:
    """Two earlier runs are not enough."""
    return slow(chance, (25.0, 55.0), earlier=often(chance, usual, (1, 2)))


@near_miss("D1", "none")
def on_other_cards(chance: Random) -> Scene:
    """The earlier runs were on another model."""
    return slow(chance, (40.0, 60.0), gpu_model=OTHER)


@near_miss("D1", "none")
def a_third_slower(chance: Random) -> Scene:
    """A little slower and a little less busy, as between two days."""
    return slow(chance, (60.0, 75.0), log=printed(chance, slower=chance.uniform(1.1, 1.3)))


@near_miss("D1", "none")
def never_the_same(chance: Random) -> Scene:
    """Its time differs from run to run."""
    before = [
        Scene(log=printed(chance, slower=share), cards=cards(chance, (25, 90)), seconds=SECONDS)
        for share in (0.4, 0.7, 1.0, 1.6, 2.0)
    ]
    log = printed(chance, slower=chance.uniform(1.7, 2.2))
    return slow(chance, (25.0, 55.0), log=log, earlier=before)


@near_miss("D1", "none")
def failed_before(chance: Random) -> Scene:
    """Failed runs do not count for the comparison."""

    def failed(chance: Random) -> Scene:
        scene = usual(chance)
        scene.code = 1
        return scene

    return slow(chance, (25.0, 55.0), earlier=often(chance, failed))


# -- D2 ------------------------------------------------------------------------------------------


@scenario("D2", "launch_blocking")
def blocking_and_slower(chance: Random) -> Scene:
    """The setting is new, and the GPU waits."""
    return slow(chance, (30.0, 60.0), variables={"CUDA_LAUNCH_BLOCKING": "1"})


@scenario("D2", "slow_interconnect")
def without_a_way(chance: Random) -> Scene:
    """A path between the GPUs is disabled that was in use before."""
    setting = chance.choice(
        ("NCCL_P2P_DISABLE=1", "NCCL_SHM_DISABLE=1", "NCCL_NET=Socket", "NCCL_P2P_LEVEL=LOC")
    )
    name, _, value = setting.partition("=")
    before = often(chance, lambda chance: usual(chance, 8))
    load = chance.choice(((40.0, 60.0), (88.0, 99.0)))
    return slow(chance, load, cards=cards(chance, load, 8), variables={name: value}, earlier=before)


@scenario("D2", "slow_interconnect")
def without_infiniband(chance: Random) -> Scene:
    """One GPU on each of several nodes."""
    world = {"WORLD_SIZE": str(chance.choice((2, 16)))}

    def before(chance: Random) -> Scene:
        scene = usual(chance)
        scene.variables = world
        return scene

    variables = {**world, "NCCL_IB_DISABLE": "1"}
    return slow(chance, (88.0, 99.0), variables=variables, earlier=often(chance, before))


@scenario("D2", "save_storm")
def saves_more_often(chance: Random) -> Scene:
    """It saves every ten or twenty steps instead of every hundred, and takes far longer."""

    def before(chance: Random) -> Scene:
        return Scene(log=printed(chance, every=100), cards=cards(chance), seconds=SECONDS)

    log = printed(chance, every=chance.choice((10, 20)))
    seconds = SECONDS * chance.uniform(1.7, 3.0)
    return slow(chance, (30, 60), log=log, seconds=seconds, earlier=often(chance, before))


@near_miss("D2", "none", health="healthy_slow")
def blocking_switched_off(chance: Random) -> Scene:
    """The variable has the value for no."""
    return slow(chance, (84.0, 96.0), variables={"CUDA_LAUNCH_BLOCKING": "0"})


@near_miss("D2", "none", health="healthy_slow")
def without_a_way_as_ever(chance: Random) -> Scene:
    """The path was also disabled before: this run is slower for another reason."""
    variables = {"NCCL_P2P_DISABLE": "1"}

    def before(chance: Random) -> Scene:
        scene = usual(chance, 8)
        scene.variables = variables
        return scene

    count = cards(chance, count=8)
    return slow(chance, (84, 96), cards=count, variables=variables, earlier=often(chance, before))


@near_miss("D2", "none")
def without_a_way_as_fast(chance: Random) -> Scene:
    """The path is disabled for the first time, and the run is not slower."""
    before = often(chance, lambda chance: usual(chance, 8))
    return slow(
        chance,
        (84.0, 96.0),
        log=printed(chance, slower=chance.uniform(0.9, 1.2)),
        cards=cards(chance, count=8),
        variables={"NCCL_SHM_DISABLE": "1"},
        earlier=before,
    )


@near_miss("D2", "none", health="healthy_slow")
def without_a_way_alone(chance: Random) -> Scene:
    """A single GPU has no peers."""
    return slow(chance, (84.0, 96.0), variables={"NCCL_P2P_DISABLE": "1"})


@near_miss("D2", "none")
def saves_more_often_as_fast(chance: Random) -> Scene:
    """It saves every twenty steps instead of every hundred, and takes no longer."""

    def before(chance: Random) -> Scene:
        return Scene(log=printed(chance, every=100), cards=cards(chance), seconds=SECONDS)

    return slow(chance, (84.0, 96.0), log=printed(chance, every=20), earlier=often(chance, before))


@near_miss("D2", "none", health="healthy_slow")
def slower_on_another_host(chance: Random) -> Scene:
    """Only the host is known to be different."""
    return slow(chance, (84.0, 96.0), hostname="n7")


@near_miss("D2", "none", health="healthy_slow")
def slower_with_another_version(chance: Random) -> Scene:
    """Only a library is known to be different."""

    def before(chance: Random) -> Scene:
        scene = usual(chance)
        scene.given = {"versions": {"python": "3.12", "torch": "2.12.1"}}
        return scene

    given = {"versions": {"python": "3.12", "torch": "2.13.0"}}
    return slow(chance, (84.0, 96.0), given=given, earlier=often(chance, before))


# -- E3 ------------------------------------------------------------------------------------------


def short(chance: Random, log: str, before: Callable[[Random], Scene], **more: object) -> Scene:
    """Return a run that prints this, after several that trained."""
    fields: dict[str, object] = {
        "log": log,
        "seconds": 30.0,
        "silent_s": 1.0,
        "earlier": often(chance, before),
        **more,
    }
    return Scene(**fields)  # type: ignore[arg-type]


def by_hand(chance: Random) -> Scene:
    """Return a custom loop that ran to its end."""
    return Scene(log=without_total(chance, chance.randint(550, 650)), seconds=SECONDS)


@scenario("E3", "undertrained")
def far_fewer_steps(chance: Random) -> Scene:
    """The log has no planned number of steps."""
    return short(chance, without_total(chance, chance.randint(2, 40)), by_hand)


@scenario("E3", "undertrained")
def limit_of_a_test(chance: Random) -> Scene:
    """A limit from a test was left in: it made all planned steps, a hundredth of the usual ones."""

    def before(chance: Random) -> Scene:
        return Scene(log=printed(chance, steps=6000), seconds=SECONDS)

    steps = chance.choice((20, 30, 50))
    return short(chance, printed(chance, steps=steps), before)


@scenario("E3", "undertrained")
def no_step_at_all(chance: Random) -> Scene:
    """It succeeded at once, without a step."""
    log = chance.choice(("nothing to do\n", "loading data\nkept 0 of 120000 rows\ndone\n"))
    return short(chance, log, by_hand)


@near_miss("E3", "none")
def stopped_early_as_asked(chance: Random) -> Scene:
    """An early stop is intended."""
    said = ("Early stopping: no improvement for 5 epochs", "Stopping early at epoch 3")
    log = without_total(chance, chance.randint(10, 40)) + chance.choice(said) + "\n"
    return short(chance, log, by_hand)


@near_miss("E3", "none")
def the_rest_of_a_training(chance: Random) -> Scene:
    """It resumed an earlier run near its end."""
    first = STEPS - chance.choice((30, 40))
    log = printed(chance, first=first)
    command = ["python", "train.py", "--resume"]
    return short(chance, log, usual, command=command)


@near_miss("E3", "none")
def half_the_data(chance: Random) -> Scene:
    """It had less data than before."""
    return short(chance, without_total(chance, chance.randint(150, 400)), by_hand, seconds=300.0)


@near_miss("E3", "none")
def first_of_its_kind(chance: Random) -> Scene:
    """There are no earlier runs of this command."""
    scene = short(chance, without_total(chance, chance.randint(11, 40)), by_hand)
    for one in scene.earlier:
        one.command = ["python", "train.py", "--all"]
    return scene


@near_miss("E3", "none")
def short_as_ever(chance: Random) -> Scene:
    """Its earlier runs were equally short."""

    def before(chance: Random) -> Scene:
        return Scene(log=without_total(chance, chance.randint(12, 40)), seconds=30.0, silent_s=1.0)

    return short(chance, without_total(chance, chance.randint(12, 40)), before)


@near_miss("E3", "none")
def chain_that_saves(chance: Random) -> Scene:
    """It saves at its last step and exits, and the next run resumes."""
    log = printed(chance, steps=40, total=6000, every=40)

    def before(chance: Random) -> Scene:
        return Scene(log=printed(chance, steps=6000), seconds=SECONDS)

    return short(chance, log, before)


@near_miss("E3", "none", health="unverifiable")
def silent_for_as_long(chance: Random) -> Scene:
    """It no longer reports steps, and takes as long as before."""
    return short(chance, "." * chance.randint(10, 200) + "\ndone\n", by_hand, seconds=SECONDS)
