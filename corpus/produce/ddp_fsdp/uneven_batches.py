# /// case
# cause = "collective"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# why = "one rank has fewer batches and enters another collective than its peer: a mismatch"
# ///
"""The ranks have uneven numbers of batches; the shorter one meets the other's gradients in its metric."""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    dist.init_process_group("gloo", timeout=timedelta(seconds=5))
    rank = dist.get_rank()
    rows = TensorDataset(torch.randn(100 + 24 * rank, 8))
    model = nn.parallel.DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, (x,) in enumerate(DataLoader(rows, batch_size=8)):
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"[{rank}] step {step} loss {loss.item():.4f}", flush=True)
    print(f"[{rank}] epoch finished after {step + 1} steps", flush=True)
    metric = torch.tensor([loss.item()])
    dist.all_reduce(metric)


main()
