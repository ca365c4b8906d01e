"""Runs that failed before training, and runs that had trained although their logs omit it."""

from __future__ import annotations

from random import Random

from tests.scenarios.catalogue import near_miss, scenario
from tests.scenarios.logs import (
    falling,
    hugging_face,
    loading,
    of_rank,
    plain,
    some_steps,
    traceback,
)
from tests.scenarios.memory import CUDA_OOM
from tests.scenarios.scene import GIB, Card, Scene, flat, steps

KEY_ERROR = "KeyError: 'labels'"


def _untouched(chance: Random) -> list[Card]:
    """Return GPUs that hold a context at most."""
    held = chance.choice((0.0, chance.uniform(0.002, 0.012)))
    return [Card(memory=flat(held), load=flat(0.0)) for _ in range(chance.choice((1, 2, 8)))]


def _dies(chance: Random, log: str, code: int = 1) -> Scene:
    seconds = chance.uniform(4.0, 600.0)
    return Scene(log=log, code=code, cards=_untouched(chance), seconds=seconds)


@scenario("A1", "missing_module", real_s=7)
def without_a_module(chance: Random) -> Scene:
    """A module that it imports is missing."""
    name = chance.choice(("flash_attn", "deepspeed", "wandb", "sentencepiece"))
    said = f"ModuleNotFoundError: No module named {name!r}"
    return _dies(chance, of_rank(chance, traceback(said, "<module>")))


@scenario("A1", "config", real_s=7)
def unknown_option(chance: Random) -> Scene:
    """An option that its parser does not know."""
    option = chance.choice(("--learning-rat 3e-4", "--bf-16", "--max_step 10"))
    log = "usage: train.py [-h] [--data DATA]\n"
    return _dies(chance, f"{log}train.py: error: unrecognized arguments: {option}\n", 2)


@scenario("A1", "traceback", real_s=7)
def wrong_column(chance: Random) -> Scene:
    """A bug before the first step, after bars of loading."""
    return _dies(
        chance, loading(chance) + of_rank(chance, traceback(KEY_ERROR, "<module>", "main"))
    )


@scenario("A1", "device_mismatch", real_s=7)
def forgotten_on_the_cpu(chance: Random) -> Scene:
    """The first forward fails, with a model on the GPU for some seconds."""
    said = (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two "
        "devices, cuda:0 and cpu!"
    )
    scene = _dies(chance, of_rank(chance, traceback(said, "main", "forward")))
    for card in scene.cards:
        card.memory, card.load = flat(chance.uniform(0.1, 0.6)), flat(chance.uniform(0, 6))
    return scene


@scenario("A1", "file_not_found", real_s=7)
def no_such_data(chance: Random) -> Scene:
    """A path that does not exist."""
    path = chance.choice(("/data/train.json", "conf/model.yaml", "/mnt/shards"))
    said = f"FileNotFoundError: [Errno 2] No such file or directory: {path!r}"
    return _dies(chance, of_rank(chance, traceback(said, "<module>", "main")))


@scenario("A1", "checkpoint")
def cut_off_base_model(chance: Random) -> Scene:
    """A shard of the base model is incomplete."""
    said = (
        "safetensors_rust.SafetensorError: Error while deserializing header: "
        "MetadataIncompleteBuffer"
    )
    log = traceback(
        said, "main", "/opt/transformers/modeling_utils.py:from_pretrained:model = load(file)"
    )
    scene = _dies(chance, loading(chance) + log)
    scene.command = chance.choice((["python", "t.py"], ["python", "t.py", "--resume", "auto"]))
    return scene


@near_miss("A1", "traceback", family=None, real_s=7)
def after_steps(chance: Random) -> Scene:
    """The same bug in mid-run."""
    log = some_steps(chance) + of_rank(chance, traceback(KEY_ERROR, "main", "step"))
    return Scene(log=log, code=1, cards=[Card()])


@near_miss("A1", "traceback", family=None)
def after_silent_hours(chance: Random) -> Scene:
    """A program that prints no steps fails after hours on its GPUs."""
    load = steps((0.0, 0.0), (chance.uniform(0.01, 0.3), chance.uniform(40, 99)))
    cards = [Card(load=load) for _ in range(chance.choice((1, 4)))]
    log = "config loaded\n" + traceback(KEY_ERROR, "main", "validate")
    return Scene(log=log, code=1, cards=cards, seconds=chance.uniform(1200, 9000))


@near_miss("A1", "traceback", family=None)
def after_steps_without_nvml(chance: Random) -> Scene:
    """In mid-run, without telemetry of GPUs."""
    log = hugging_face(chance, falling(chance), last=chance.randint(5, 60))
    log = log[: log.index("{'train_runtime'")] + traceback(KEY_ERROR, "main", "step")
    return Scene(log=log, code=1, missing=["nvml"])


@near_miss("A1", "cuda_oom")
def too_large_from_the_start(chance: Random) -> Scene:
    """The model alone does not fit."""
    log = CUDA_OOM.format(gpu=0, asked=chance.uniform(1, 9), total=80.0, free=0.3, held=76.0)
    card = Card(memory=steps((0.0, 0.01), (0.6, 0.96)), total_bytes=80 * GIB)
    return Scene(log=loading(chance) + log, code=1, cards=[card], seconds=90.0)


@near_miss("A1", "killed_unknown")
def killed_while_it_loads(chance: Random) -> Scene:
    """A person kills it at the start."""
    return _dies(chance, loading(chance), -9)


@near_miss("A1", "none", real_s=7)
def handled(chance: Random) -> Scene:
    """An exception that the program reports and handles."""
    last = chance.choice((200, 1000))
    log = traceback("ImportError: No module named 'apex'", "<module>") + "falling back to torch\n"
    log += plain(falling(chance), range(1, last + 1, 5), last)
    return Scene(log=log, cards=[Card()])
