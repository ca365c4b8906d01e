"""Training of two small layers over gloo, until a file exists; with workers of a data loader.

Arguments: the file, and "none", "fork" or "spawn" for the workers.
"""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


class Numbers:
    """Random rows."""

    def __len__(self) -> int:
        return 1 << 30

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((64,), float(index % 7))


def main(stop: str, workers: str) -> None:
    """Train until the file exists, on all ranks at the same step."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    inner = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    model = torch.nn.parallel.DistributedDataParallel(inner)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(
        Numbers(),
        batch_size=32,
        num_workers=0 if workers == "none" else 2,
        multiprocessing_context=None if workers == "none" else workers,
    )
    for step, batch in enumerate(loader):
        loss = model(batch).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 10 and dist.get_rank() == 0:
            print("training", flush=True)
        is_over = torch.tensor([float(os.path.exists(stop))])
        dist.all_reduce(is_over, op=dist.ReduceOp.MAX)
        if is_over.item():
            break
    print("trained", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
