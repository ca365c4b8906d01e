"""A training of several ranks in which rank 1 stops taking part, as the argument says.

Each rank prints a line when it has taken three steps together with the others.
"""

import os
import sys
import time

import torch
import torch.distributed as dist

from tests.stacks import hanging_modes


class Samples:
    """Samples of which the later ones never arrive on rank 1."""

    def __len__(self) -> int:
        """Return the number of samples."""
        return 1000

    def __getitem__(self, index: int) -> torch.Tensor:
        """Return one sample."""
        if dist.get_rank() == 1 and index >= 8:
            read_from_storage()
        return torch.ones(1)


def read_from_storage() -> None:
    """Wait, as for storage that does not answer."""
    time.sleep(1000)


def other_operation() -> None:
    """Take part in another operation than the other ranks."""
    dist.broadcast(torch.ones(1), 0)


def forward(weights: torch.Tensor) -> torch.Tensor:
    """Compute for some milliseconds."""
    for _layer in range(100):
        weights = (weights @ weights).softmax(-1)
    return weights


def measure(weights: torch.Tensor) -> float:
    """Compute something else for some milliseconds."""
    return sum(float((weights - weights.roll(number)).norm()) for number in range(300))


def evaluate() -> None:
    """Compute at changing places, as an evaluation does, until a file exists."""
    torch.set_num_threads(1)  # a thread that waits for others does not compute
    weights = torch.randn(256, 256)
    while not os.path.exists(sys.argv[2]):
        weights = forward(weights)
        measure(weights)


def train_from_a_loader() -> None:
    """Train on samples of worker processes."""
    for sample in torch.utils.data.DataLoader(Samples(), batch_size=2, num_workers=2):
        dist.all_reduce(sample)


def train(mode: str) -> None:
    """Take steps until rank 1 does something else."""
    for step in range(1000):
        if step == 3:
            print("ready", dist.get_rank(), flush=True)
            if mode == "train_from_a_loader":
                train_from_a_loader()
            elif dist.get_rank() == 1:
                (getattr(hanging_modes, mode, None) or globals()[mode])()
        dist.all_reduce(torch.ones(1))


dist.init_process_group("gloo")
train(sys.argv[1])
