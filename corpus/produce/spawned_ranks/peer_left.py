# /// case
# cause = "collective"
# exit_code = 1
# why = "a peer closed its connections without a word; the others only see that"
# ///
"""A rank leaves quietly with status 0 in mid-training, and the others lose their connection to it."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def train(rank, world):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29837")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    model = torch.nn.Linear(4, 1)
    ddp = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
    batches = 12 if rank else 20
    for step in range(batches):
        loss = ddp(torch.randn(16, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and step % 3 == 0:
            print(f"step {step:>3} | loss {loss.item():.5f}", flush=True)
    if rank:
        os._exit(0)


if __name__ == "__main__":
    mp.spawn(train, args=(2,), nprocs=2)
    print("all ranks done")
