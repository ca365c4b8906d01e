"""Successful runs that are slow for a reason that one run shows, and runs that only look slow."""

from __future__ import annotations

from random import Random

from tests.scenarios.catalogue import near_miss, scenario
from tests.scenarios.logs import falling, hugging_face, megatron, traceback
from tests.scenarios.scene import Card, Curve, Scene, flat, steps


def _trained(chance: Random, load: Curve, count: int | None = None, **more: object) -> Scene:
    cards = [Card(load=load) for _ in range(count or chance.choice((1, 2, 8)))]
    log = hugging_face(chance, falling(chance))
    return Scene(log=log, cards=cards, **more)  # type: ignore[arg-type]


@scenario("D1", "under_utilization", weaker=("none",), real_s=150)
def starved_by_the_loader(chance: Random) -> Scene:
    """The GPUs wait for data that the CPU prepares."""
    cores = flat(chance.uniform(1, 30))
    return _trained(chance, flat(chance.uniform(1, 25)), cores=cores)


@scenario("D1", "under_utilization", weaker=("none",))
def starved_by_storage(chance: Random) -> Scene:
    """The GPUs wait for disks."""
    load = flat(chance.uniform(0.5, 25))
    host = {"io_full_percent": flat(chance.uniform(25, 90))}
    return _trained(chance, load, cores=flat(0.2), host=host)


@scenario("D1", "under_utilization", weaker=("none",), real_s=150)
def tiny_batches(chance: Random) -> Scene:
    """Kernels of microseconds, and Python between them."""
    return _trained(chance, flat(chance.uniform(2, 25)), cores=flat(1.0))


@scenario("D1", "under_utilization", real_s=150)
def a_model_on_the_processor(chance: Random) -> Scene:
    """A model that was never moved to the GPU which holds its context and data."""
    return _trained(chance, flat(0.0), cores=flat(chance.uniform(2, 60)))


@scenario("D1", "under_utilization", real_s=150)
def busy_at_the_start_only(chance: Random) -> Scene:
    """It is fast as long as the cache lasts, and starved afterwards."""
    load = steps((0.0, 90.0), (chance.uniform(0.005, 0.03), chance.uniform(0.5, 8.0)))
    return _trained(chance, load)


@near_miss("D1", "none", real_s=150)
def at_full_load(chance: Random) -> Scene:
    """GPUs that work."""
    return _trained(chance, flat(chance.uniform(60, 100)))


@near_miss("D1", "none", real_s=150)
def half_used(chance: Random) -> Scene:
    """A model with a moderate load, which may be its normal load."""
    return _trained(chance, flat(chance.uniform(35, 70)))


@near_miss("D1", "none", real_s=150)
def one_of_them_serves(chance: Random) -> Scene:
    """One GPU trains, the other holds a teacher model that is used now and then."""
    cards = [Card(), Card(load=flat(chance.uniform(1, 20)))]
    return Scene(log=hugging_face(chance, falling(chance)), cards=cards)


@near_miss("D1", "none", real_s=150)
def a_long_start(chance: Random) -> Scene:
    """A quarter of the time goes into preparing, before any memory is held."""
    begins = chance.uniform(0.05, 0.4)
    card = Card(memory=steps((0.0, 0.0), (begins, 0.6)), load=steps((0.0, 0.0), (begins, 90.0)))
    return Scene(log=hugging_face(chance, falling(chance)), cards=[card])


@near_miss("D1", "traceback", family=None, real_s=150)
def starved_and_failed(chance: Random) -> Scene:
    """A bug ended it."""
    scene = _trained(chance, flat(3.0))
    end = scene.log.index("{'train_runtime'")
    scene.log = scene.log[:end] + traceback("KeyError: 'x'", "main", "step")
    scene.code = 1
    return scene


@scenario("D2", "launch_blocking", real_s=7)
def blocking_launches(chance: Random) -> Scene:
    """A variable of a debugging session was left set."""
    return _trained(chance, flat(70.0), variables={"CUDA_LAUNCH_BLOCKING": "1"})


@scenario("D2", "launch_blocking", real_s=7)
def blocking_launches_in_megatron(chance: Random) -> Scene:
    """The same on eight GPUs."""
    log = megatron(chance, falling(chance))
    cards = [Card(load=flat(chance.uniform(40, 80))) for _ in range(8)]
    return Scene(log=log, cards=cards, variables={"CUDA_LAUNCH_BLOCKING": "true"})


def _saves(chance: Random, every: int) -> str:
    """Megatron's log, with a checkpoint after so many of its lines."""
    lines = megatron(chance, falling(chance)).splitlines(keepends=True)
    told = []
    for number, line in enumerate(lines, start=1):
        told.append(line)
        if number % every == 0:
            told.append(
                f"  successfully saved checkpoint from iteration {number * 10:7d} to /ckpt\n"
            )
    return "".join(told)


@scenario("D2", "save_storm", real_s=7)
def saves_at_each_step(chance: Random) -> Scene:
    """A checkpoint after each step."""
    last = chance.randint(20, 90)
    log = "".join(
        f"{line}\n  successfully saved checkpoint from iteration {step:7d} to /ckpt\n"
        for step, line in enumerate(_one_by_one(chance, last), start=1)
    )
    return Scene(log=log, cards=[Card(load=flat(40.0))])


@scenario("D2", "save_storm", weaker=("none",), real_s=7)
def saves_at_every_other_step(chance: Random) -> Scene:
    """A checkpoint after every other step."""
    last = chance.randint(40, 90)
    log = "".join(
        f"{line}\n"
        + (
            f"  successfully saved checkpoint from iteration {step:7d} to /ckpt\n"
            if step % 2 == 0
            else ""
        )
        for step, line in enumerate(_one_by_one(chance, last), start=1)
    )
    return Scene(log=log, cards=[Card(load=flat(40.0)) for _ in range(2)])


@scenario("D2", "launch_blocking", real_s=7)
def blocking_and_far_between(chance: Random) -> Scene:
    """Launches that block, in a run that also saves now and then."""
    cards = [Card(load=flat(60.0)) for _ in range(chance.choice((1, 4)))]
    return Scene(log=_saves(chance, 20), cards=cards, variables={"CUDA_LAUNCH_BLOCKING": "1"})


def _one_by_one(chance: Random, last: int) -> list[str]:
    """A line of Megatron for each step."""
    lines = megatron(chance, falling(chance), last=last * 10, total=last * 10).splitlines()
    return [
        line.replace(f"{step * 10:8d}/{last * 10:8d}", f"{step:8d}/{last:8d}")
        for step, line in enumerate(lines, start=1)
    ]


@near_miss("D2", "none", real_s=7)
def blocking_was_switched_off(chance: Random) -> Scene:
    """The variable says that launches do not block."""
    return _trained(chance, flat(80.0), variables={"CUDA_LAUNCH_BLOCKING": "0"})


@near_miss("D2", "none", real_s=7)
def saves_now_and_then(chance: Random) -> Scene:
    """A checkpoint every few hundred steps."""
    return Scene(log=_saves(chance, chance.randint(5, 20)), cards=[Card()])


@near_miss("D2", "none")
def one_gpu_needs_no_way(chance: Random) -> Scene:
    """Paths between GPUs are disabled in a run with one GPU."""
    return _trained(chance, flat(90.0), count=1, variables={"NCCL_P2P_DISABLE": "1"})


@near_miss("D2", "none", real_s=7)
def a_way_is_off(chance: Random) -> Scene:
    """A path is disabled, and its cost is not known."""
    return _trained(chance, flat(90.0), count=4, variables={"NCCL_IB_DISABLE": "1"})


@near_miss("D2", "cuda_runtime", real_s=7)
def blocking_to_find_a_bug(chance: Random) -> Scene:
    """A person debugs a kernel that fails."""
    said = "torch.AcceleratorError: CUDA error: device-side assert triggered"
    log = hugging_face(chance, falling(chance))
    log = log[: log.index("{'train_runtime'")] + traceback(said, "main", "backward")
    variables = {"CUDA_LAUNCH_BLOCKING": "1"}
    return Scene(log=log, code=1, cards=[Card()], variables=variables)
