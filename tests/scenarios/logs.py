"""Output of programs: tracebacks, the steps of trainings in several forms, loading bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from random import Random

Loss = Callable[[float], float]
"""The loss by the part of the training that has passed."""


def falling(chance: Random) -> Loss:
    """A loss that falls, with the noise of mini-batches."""
    start, floor = chance.uniform(2, 11), chance.uniform(0.05, 1.5)
    return lambda part: floor + (start - floor) * math.exp(-4 * part) + chance.gauss(0, 0.03)


def hugging_face(
    chance: Random,
    loss: Loss,
    first: int = 1,
    last: int = 60,
    norm: float = 1.2,
    rate: float = 5e-5,
) -> str:
    """Return the output of Trainer 5: dicts of quoted values, and its bar."""
    lines = []
    for step in range(first, last + 1):
        part = step / last
        told = {
            "loss": f"{loss(part):.4g}",
            "grad_norm": f"{abs(norm * chance.uniform(0.7, 1.4)):.4g}",
            "learning_rate": f"{rate * (1 - part):.4g}",
            "epoch": f"{3 * part:.4g}",
        }
        lines.append(str(told))
        lines.append(
            f"{100 * step // last:3d}%|###  | {step}/{last} [00:{step % 60:02d}<00:09, 2.1it/s]"
        )
    lines.append("{'train_runtime': '31.2', 'train_samples_per_second': '9.1', 'epoch': '3'}")
    return "\n".join(lines) + "\n"


def megatron(chance: Random, loss: Loss, first: int = 10, last: int = 600, total: int = 600) -> str:
    """Return the output of Megatron-LM every ten iterations."""
    return "".join(
        f" [2026-11-20 10:{step // 60 % 60:02d}:{step % 60:02d}] iteration {step:8d}/{total:8d} |"
        f" consumed samples: {step * 64:12d} | elapsed time per iteration (ms): "
        f"{chance.uniform(380, 420):.1f} | learning rate: 1.5E-04 | global batch size:    64 | "
        f"lm loss: {loss(step / total):.6E} | loss scale: 1.0 | grad norm: "
        f"{chance.uniform(0.5, 2):.3f} | number of skipped iterations:   0 | number of nan "
        "iterations:   0 |\n"
        for step in range(first, last + 1, 10)
    )


def plain(loss: Loss, steps: Iterable[int], last: int) -> str:
    """Return the output of a custom loop."""
    return "".join(f"step {step}: loss {loss(step / last):.4f}\n" for step in steps)


def some_steps(chance: Random) -> str:
    """Return the begin of a training that did not reach its end."""
    last = chance.choice((300, 5000))
    done = range(1, chance.randint(30, 120))
    return plain(falling(chance), done, last)


def traceback(said: str, *frames: str, file: str = "train.py") -> str:
    """An exception, raised in these functions; a frame may be "file:function:source"."""
    lines = ["Traceback (most recent call last):"]
    for number, frame in enumerate(frames or ("<module>",)):
        place, function, source = ("", frame, "")
        if frame.count(":") >= 2:
            place, function, source = frame.split(":", 2)
        lines.append(f'  File "{place or file}", line {41 + 7 * number}, in {function}')
        lines.append(f"    {source or 'main()'}")
    return "\n".join([*lines, said]) + "\n"


def of_rank(chance: Random, text: str) -> str:
    """Return the same text from a rank of a distributed run, or from a single process."""
    rank = chance.choice((None, 0, chance.randint(0, 7)))
    if rank is None:
        return text
    return "".join(f"[rank{rank}]: {line}" for line in text.splitlines(keepends=True))


def loading(chance: Random) -> str:
    """Return progress bars from before a training."""
    total = chance.randint(2, 40)
    bars = "\r".join(
        f"Loading checkpoint shards: {100 * at // total:3d}%|##  | {at}/{total} [00:{at:02d}<00:09]"
        for at in range(total + 1)
    )
    return bars + "\n"
