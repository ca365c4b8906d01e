# /// case
# cause = "traceback"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# ///
"""One rank meets a speaker that its table lacks; the other one only loses the connection."""

import torch
import torch.distributed as dist
from torch import nn

SPEAKERS = {f"spk{i:03d}": i for i in range(40)}


def batch_names(rank, step):
    return [f"spk{(rank * 17 + step * 3 + k) % 44:03d}" for k in range(4)]


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    table = nn.Embedding(len(SPEAKERS), 16)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(table, nn.Linear(16, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(40):
        ids = torch.tensor([SPEAKERS[name] for name in batch_names(rank, step)])
        loss = model(ids).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            print(f"step {step:4d} | loss {loss.item():.4f} | lr 0.1", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
