#!/usr/bin/env python3
"""Train a tiny transformer on generated text with PyTorch, on the CPU, alone or under torchrun.

The model is built from the configuration in CONFIG, any part of which the command line may
change.  On SIGTERM rank 0 saves a checkpoint and all ranks exit with status 0.  To see a
training fail for a real reason:

    train_torch.py --set head_width=24          the heads do not fit the output projection
    train_torch.py --lr 1e9                     the loss becomes nan
    torchrun --nproc-per-node 2 train_torch.py  two ranks, gradients averaged by gloo
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

CONFIG = {"blocks": 2, "width": 64, "heads": 4, "head_width": 16, "hidden": 128, "context": 32}
WORDS = ["gpu", "node", "rank", "loss", "step", "epoch", "tensor", "kernel"]


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self, config: dict[str, int]) -> None:
        super().__init__()
        self.heads = config["heads"]
        self.project = nn.Linear(config["width"], 3 * self.heads * config["head_width"])
        self.merge = nn.Linear(config["width"], config["width"])

    def forward(self, hidden: Tensor) -> Tensor:
        """Return (batch, time, width) from the same shape."""
        batch, length, _ = hidden.shape
        parts = self.project(hidden).view(batch, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.merge(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention and a feed-forward layer, each with its residual."""

    def __init__(self, config: dict[str, int]) -> None:
        super().__init__()
        width, hidden = config["width"], config["hidden"]
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.attention = Attention(config)
        self.feed = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))

    def forward(self, hidden: Tensor) -> Tensor:
        """Return (batch, time, width) from the same shape."""
        hidden = hidden + self.attention(self.norms[0](hidden))
        return hidden + self.feed(self.norms[1](hidden))


class Transformer(nn.Module):
    """Predicts the next character."""

    def __init__(self, config: dict[str, int], letters: int) -> None:
        super().__init__()
        self.letters = nn.Embedding(letters, config["width"])
        self.places = nn.Embedding(config["context"], config["width"])
        self.blocks = nn.Sequential(*(Block(config) for _ in range(config["blocks"])))
        self.head = nn.Linear(config["width"], letters)

    def forward(self, text: Tensor) -> Tensor:
        """Return (batch, time, letters) of logits for (batch, time) of letters."""
        places = torch.arange(text.shape[1], device=text.device)
        return self.head(self.blocks(self.letters(text) + self.places(places)))


def generated_text(length: int, seed: int) -> tuple[Tensor, int]:
    """Return a text of at least ``length`` letters as numbers, and how many letters there are."""
    chance = random.Random(seed)
    text = ""
    while len(text) < length:
        text += chance.choice(WORDS) + " "
    alphabet = sorted(set(text))
    return torch.tensor([alphabet.index(letter) for letter in text]), len(alphabet)


class Training:
    """One rank's model, data and optimizer."""

    def __init__(self, options: argparse.Namespace, config: dict[str, int], rank: int) -> None:
        torch.manual_seed(options.seed)  # the same weights on every rank
        self.options, self.context, self.rank = options, config["context"], rank
        self.text, letters = generated_text(20_000, options.seed)
        self.bare: nn.Module = Transformer(config, letters)
        self.model = nn.parallel.DistributedDataParallel(self.bare) if grouped() else self.bare
        self.optimizer = torch.optim.AdamW(self.bare.parameters(), lr=options.lr)
        self.chance = torch.Generator().manual_seed(options.seed + rank)  # different batches
        self.stop_asked = torch.zeros(1)
        signal.signal(signal.SIGTERM, lambda *_: self.stop_asked.fill_(1))

    def step(self) -> float:
        """Take one step on a random batch and return its loss, which may be nan."""
        starts = torch.randint(len(self.text) - self.context - 1, (16,), generator=self.chance)
        window = torch.stack([self.text[start : start + self.context + 1] for start in starts])
        logits = self.model(window[:, :-1])
        loss = cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def stop_agreed(self) -> bool:
        """Return whether any rank was asked to stop: all must leave after the same step."""
        asked = self.stop_asked.clone()
        if grouped():
            dist.all_reduce(asked, dist.ReduceOp.MAX)
        return bool(asked)

    def save(self, epoch: int) -> None:
        """Let rank 0 write the checkpoint, whole or not at all, while the others wait."""
        if self.rank == 0:
            path: Path = self.options.checkpoint
            partial = path.with_name(path.name + ".partial")
            state = {"epoch": epoch, "model": self.bare.state_dict()}
            torch.save(state | {"optimizer": self.optimizer.state_dict()}, partial)
            # Stands for a model of many gigabytes on its way to a slow disk.
            time.sleep(self.options.save_seconds)
            partial.replace(path)
            print(f"checkpoint saved to {path}")
        if grouped():
            dist.barrier()

    def load(self, path: Path) -> int:
        """Fill model and optimizer from a file and return the number of epochs behind them."""
        saved = torch.load(path)
        self.bare.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        return int(saved["epoch"])

    def run(self) -> None:
        """Train until the last epoch or until a stop was asked for."""
        options = self.options
        done = self.load(options.resume) if options.resume else 0
        self.say(f"{'resuming after' if done else 'training from'} epoch {done}, pid {os.getpid()}")
        for epoch in range(done + 1, options.epochs + 1):
            losses = []
            for step in range(1, options.steps + 1):
                losses.append(self.step())
                if not math.isfinite(losses[-1]):
                    raise FloatingPointError(f"loss is {losses[-1]} in epoch {epoch}, step {step}")
                if self.stop_agreed():
                    self.say(f"SIGTERM in epoch {epoch}, step {step}")
                    return self.save(epoch - 1)
            self.say(f"epoch {epoch}/{options.epochs} loss {sum(losses) / len(losses):.4f}")
            if epoch % options.save_every == 0 or epoch == options.epochs:
                self.save(epoch)
        self.say("training finished")
        return None

    def say(self, text: str) -> None:
        """Print from rank 0 only."""
        if self.rank == 0:
            print(text, flush=True)


def grouped() -> bool:
    """Return whether this process is one of several ranks."""
    return bool(dist.is_initialized())


def setting(text: str) -> tuple[str, int]:
    """Return the key and value of a KEY=NUMBER that CONFIG knows."""
    key, value = text.split("=")
    if key not in CONFIG:
        raise argparse.ArgumentTypeError(f"no such setting: {key}; there are {', '.join(CONFIG)}")
    return key, int(value)


def main() -> int:
    """Parse the command line, join the other ranks if there are any, and train."""
    parser = argparse.ArgumentParser(description="Train a tiny transformer on generated text.")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40, help="steps of an epoch")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", type=setting, nargs="+", default=[], metavar="KEY=NUMBER")
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoint.pt"))
    parser.add_argument("--resume", type=Path, metavar="FILE", help="resume from a checkpoint")
    parser.add_argument("--save-every", type=int, default=5, metavar="EPOCHS")
    parser.add_argument("--save-seconds", type=float, default=0.0, metavar="S")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if "WORLD_SIZE" in os.environ:
        dist.init_process_group("gloo")
    try:
        rank = dist.get_rank() if grouped() else 0
        Training(options, CONFIG | dict(options.set), rank).run()
    finally:
        if grouped():
            dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
