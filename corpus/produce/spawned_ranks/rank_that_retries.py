# /// case
# cause = "none"
# exit_code = 0
# why = "the first group fails on purpose and is formed again; the work is done"
# ///
"""The processes lose their group once, form it again, and the training ends well."""

import datetime
import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def form(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    limit = datetime.timedelta(seconds=4)
    dist.init_process_group("gloo", rank=rank, world_size=2, timeout=limit)


def train(rank):
    form(rank, 29881)
    total = torch.zeros(1)
    for step in range(10):
        try:
            if step == 4 and rank == 1 and total.item() < 5:
                dist.destroy_process_group()
                raise ConnectionError("link to rank 0 flapped")
            dist.all_reduce(total.add_(1), op=dist.ReduceOp.MAX)
        except (RuntimeError, ConnectionError) as error:
            print(
                f"rank {rank}: {type(error).__name__}: {str(error)[:160]}; forming again",
                flush=True,
            )
            if dist.is_initialized():
                dist.destroy_process_group()
            time.sleep(1.0)
            form(rank, 29882)
            total.fill_(step + 1)
            dist.all_reduce(total, op=dist.ReduceOp.MAX)
        if rank == 0:
            print(f"step {step} total {total.item():.0f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(train, nprocs=2)
    print("both ranks finished 10 steps")
