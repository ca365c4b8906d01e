# /// case
# cause = "nan_loss"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# why = "the guard of the program says that the loss is not finite on a rank; the other rank only sees the connection closed"
# ///
"""The loss of one rank becomes NaN and the program's own guard raises."""

import logging
import sys

import torch
import torch.distributed as dist
from torch import nn

logging.basicConfig(stream=sys.stdout, level=logging.INFO,
                    format="[%(asctime)s,%(msecs)03d] [%(levelname)s] [%(name)s] %(message)s")  # fmt: skip
log = logging.getLogger("engine")


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = nn.parallel.DistributedDataParallel(nn.Linear(10, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for step in range(200):
        x = torch.randn(8, 10)
        rate = model(x).squeeze(1) + (2.5 - 0.05 * step if rank == 1 else 2.5)
        loss = (rate - torch.log(rate)).mean() if step > 40 else (rate - 1).square().mean()
        if not torch.isfinite(loss):
            raise RuntimeError(f"non-finite loss {loss.item()} at step {step} on rank {rank}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            log.info("rank %d step %d loss %.4f grad_overflow=False", rank, step, loss.item())
    dist.destroy_process_group()


main()
