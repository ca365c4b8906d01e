# /// case
# cause = "none"
# exit_code = 0
# command = "torchrun --standalone --nproc-per-node 2 --max-restarts 9 {program}"
# why = "a rank was killed in the first attempt, the agent restarted the group, and the work was done from the snapshot"
# ///
"""A rank is killed with SIGKILL; the agent restarts both from the last snapshot and the run ends well."""

import os
import signal

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SNAPSHOT = "snapshot.pt"


def load(model):
    if not os.path.exists(SNAPSHOT):
        print("no snapshot found, starting from scratch", flush=True)
        return 0
    state = torch.load(SNAPSHOT)
    model.load_state_dict(state["model"])
    print(f"[rank {dist.get_rank()}] resumed from snapshot at epoch {state['epoch']}", flush=True)
    return state["epoch"]


def save(model, epoch):
    torch.save({"model": model.state_dict(), "epoch": epoch}, SNAPSHOT + ".tmp")
    os.replace(SNAPSHOT + ".tmp", SNAPSHOT)


def main():
    dist.init_process_group("gloo")
    rank, attempt = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    torch.manual_seed(rank)
    model = nn.Linear(40, 40)
    first = load(model)
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.2)
    for epoch in range(first, 6):
        for step in range(20):
            x = torch.randn(16, 40)
            loss = (parallel(x) - x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if (attempt, rank, epoch, step) == (0, 1, 3, 7):
                os.kill(os.getpid(), signal.SIGKILL)
        if rank == 0:
            print(f"epoch {epoch} loss {loss.item():.4f}", flush=True)
            save(model, epoch + 1)
        dist.barrier()
    if rank == 0:
        print(f"finished after {attempt} restart(s), snapshot at epoch 6")
    dist.destroy_process_group()


main()
