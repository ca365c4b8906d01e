#!/usr/bin/env python3
"""Train a small classifier on three spirals with NumPy: epochs, checkpoints, resume.

On SIGTERM it saves a checkpoint and exits with status 0.  To see a training fail for a real
reason, ask for layers that do not fit each other or for a learning rate far too high:

    train_numpy.py --layers 2x64 48x64 64x3     the shapes disagree in the second layer
    train_numpy.py --lr 10                      the loss becomes nan
    train_numpy.py --resume no-such-file.npz    the checkpoint does not exist
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
CLASSES = 3
MOMENTUM = 0.9
LEAK = 0.01  # slope of a leaky ReLU below zero


def spirals(points: int, rng: np.random.Generator) -> tuple[Array, NDArray[np.int64]]:
    """Return (points, 2) coordinates on three noisy spiral arms and the arm of each."""
    label = rng.integers(0, CLASSES, points)
    radius = rng.uniform(0.05, 1.0, points)
    angle = label * (2 * math.pi / CLASSES) + 4.0 * radius + rng.normal(0.0, 0.15, points)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), label


class Dense:
    """A fully connected layer that keeps what its backward pass and momentum need."""

    def __init__(self, inputs: int, outputs: int, rng: np.random.Generator) -> None:
        self.weight: Array = rng.normal(0.0, math.sqrt(2.0 / inputs), (inputs, outputs))
        self.bias: Array = np.zeros(outputs)
        self.weight_speed: Array = np.zeros_like(self.weight)
        self.bias_speed: Array = np.zeros_like(self.bias)
        self.seen: Array = np.zeros((0, inputs))

    def forward(self, batch: Array) -> Array:
        """Return batch @ weight + bias."""
        self.seen = batch
        product: Array = np.matmul(batch, self.weight)
        return product + self.bias

    def backward(self, gradient: Array, lr: float) -> Array:
        """Take one step of momentum and return the gradient for the layer below."""
        below: Array = np.matmul(gradient, self.weight.T)
        self.weight_speed *= MOMENTUM
        self.weight_speed -= lr * np.matmul(self.seen.T, gradient)
        self.bias_speed *= MOMENTUM
        self.bias_speed -= lr * gradient.sum(axis=0)
        self.weight += self.weight_speed
        self.bias += self.bias_speed
        return below


class Network:
    """Dense layers with leaky ReLU between them and softmax cross-entropy on top."""

    def __init__(self, shapes: list[tuple[int, int]], rng: np.random.Generator) -> None:
        self.layers = [Dense(inputs, outputs, rng) for inputs, outputs in shapes]
        self.step = 0

    def forward(self, batch: Array) -> Array:
        """Return the logits of a batch."""
        hidden = batch
        for layer in self.layers[:-1]:
            hidden = layer.forward(hidden)
            hidden = np.where(hidden > 0, hidden, LEAK * hidden)
        return self.layers[-1].forward(hidden)

    def learn(self, batch: Array, label: NDArray[np.int64], lr: float) -> float:
        """Take one step on a batch and return its loss, which may be nan."""
        self.step += 1
        logits = self.forward(batch)
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        loss = -np.log(odds[np.arange(len(label)), label] + 1e-300).mean()
        gradient = (odds - np.eye(odds.shape[1])[label]) / len(label)
        for layer in reversed(self.layers):
            gradient = layer.backward(gradient, lr) * np.where(layer.seen > 0, 1.0, LEAK)
        return float(loss)

    def state(self) -> dict[str, Array]:
        """Return all arrays of the training's state, which are the layers' own arrays."""
        return {
            f"layer{index}.{name}": getattr(layer, name)
            for index, layer in enumerate(self.layers)
            for name in ("weight", "bias", "weight_speed", "bias_speed")
        }


@dataclass
class Checkpoint:
    """The training's state on disk: written completely or not at all."""

    path: Path
    save_s: float

    def save(self, network: Network, epoch: int) -> None:
        """Write a new file, sync it, then replace the old one.  Lasts at least ``save_s``."""
        started = time.monotonic()
        partial = self.path.with_name(self.path.name + ".partial")
        with partial.open("wb") as file:
            arrays = {**network.state(), "progress": np.array([epoch, network.step])}
            np.savez(file, allow_pickle=False, **arrays)
            file.flush()
            # Stands for a model of many gigabytes on its way to a slow disk.
            time.sleep(max(0.0, self.save_s - (time.monotonic() - started)))
            os.fsync(file.fileno())
        partial.replace(self.path)

    @staticmethod
    def load(path: Path, network: Network) -> int:
        """Load the network from a file and return the number of completed epochs."""
        with np.load(path) as saved:
            for name, value in network.state().items():
                value[...] = saved[name]
            epoch, network.step = (int(number) for number in saved["progress"])
            return epoch


class Stop:
    """Remembers a SIGTERM, so that the loop can end between two batches."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self.ask)

    def ask(self, _signal: int, _frame: FrameType | None) -> None:
        """Handle the signal."""
        self.asked = True


def train(options: argparse.Namespace) -> int:
    """Run the training that the options describe and return its exit status."""
    stop = Stop()
    rng = np.random.default_rng(options.seed)
    points, label = spirals(options.points, rng)
    network = Network(options.layers, rng)
    checkpoint = Checkpoint(options.checkpoint, options.save_seconds)
    done = Checkpoint.load(options.resume, network) if options.resume else 0
    print(f"{'resuming after' if done else 'training from'} epoch {done}, pid {os.getpid()}")
    for epoch in range(done + 1, options.epochs + 1):
        started, losses = time.monotonic(), []
        for batch in np.array_split(rng.permutation(len(label)), -(-len(label) // options.batch)):
            loss = network.learn(points[batch], label[batch], options.lr)
            if not math.isfinite(loss):
                raise FloatingPointError(f"loss is {loss} in epoch {epoch}, step {network.step}")
            losses.append(loss)
            if stop.asked:
                checkpoint.save(network, epoch - 1)
                print(f"SIGTERM in epoch {epoch}: checkpoint saved to {checkpoint.path}")
                return 0
        right = float((network.forward(points).argmax(axis=1) == label).mean())
        took = time.monotonic() - started
        print(
            f"epoch {epoch}/{options.epochs} loss {np.mean(losses):.4f} accuracy {right:.3f}"
            f" ({len(label) / took:,.0f} points/s)"
        )
        if epoch % options.save_every == 0 or epoch == options.epochs:
            checkpoint.save(network, epoch)
            print(f"checkpoint saved to {checkpoint.path}")
        time.sleep(max(0.0, options.epoch_seconds - (time.monotonic() - started)))
    print("training finished")
    return 0


def shape(text: str) -> tuple[int, int]:
    """Return the inputs and outputs of a layer written as INPUTSxOUTPUTS."""
    inputs, outputs = text.split("x")
    return int(inputs), int(outputs)


def main() -> int:
    """Parse the command line and train."""
    parser = argparse.ArgumentParser(description="Train a small classifier on three spirals.")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--points", type=int, default=3000)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--layers",
        type=shape,
        nargs="+",
        default=[(2, 64), (64, 64), (64, 3)],
        metavar="INxOUT",
        help="shape of each layer (default: 2x64 64x64 64x3)",
    )
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoint.npz"))
    parser.add_argument("--resume", type=Path, metavar="FILE", help="resume from a checkpoint")
    parser.add_argument("--save-every", type=int, default=10, metavar="EPOCHS")
    parser.add_argument(
        "--save-seconds",
        type=float,
        default=0.0,
        metavar="S",
        help="let every save take at least this long",
    )
    parser.add_argument(
        "--epoch-seconds",
        type=float,
        default=0.0,
        metavar="S",
        help="let every epoch take at least this long",
    )
    return train(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
