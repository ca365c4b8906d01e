"""Training of two ranks over gloo; rank 1 is slow once a file exists, until another one does.

Arguments: the two files.
"""

from __future__ import annotations

import os
import sys
import time

import torch
import torch.distributed as dist


def load_batch(rank: int, slow: str) -> torch.Tensor:
    """Return a batch; the disk of rank 1 becomes slow."""
    time.sleep(0.3 if rank == 1 and os.path.exists(slow) else 0.005)
    return torch.randn(32, 64)


def main(slow: str, stop: str) -> None:
    """Train until the second file exists, on all ranks at the same step."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for step in range(1, 1_000_000):
        batch = load_batch(rank, slow)
        loss = (model(batch) - batch).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            print(f"step {step} loss {loss.item():.5f}", flush=True)
        is_over = torch.tensor([float(os.path.exists(stop))])
        dist.all_reduce(is_over, op=dist.ReduceOp.MAX)
        if is_over.item():
            break
    print("training complete", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
