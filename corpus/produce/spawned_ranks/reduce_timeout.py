# /// case
# cause = "collective"
# exit_code = 1
# why = "a rank of the group does not come to the collective in time and nothing else is visible"
# ///
"""One rank is far slower in its first epoch than the time limit of the group allows."""

import datetime
import logging
import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def worker(rank, world):
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [worker {rank}] %(message)s")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29823")
    limit = datetime.timedelta(seconds=5)
    dist.init_process_group("gloo", rank=rank, world_size=world, timeout=limit)
    total = torch.zeros(1)
    for epoch in range(6):
        if rank == 2 and epoch == 3:
            time.sleep(14)
        total += epoch
        dist.all_reduce(total, op=dist.ReduceOp.MAX)
        logging.info("epoch %d reduced %.1f", epoch, total.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.start_processes(worker, args=(3,), nprocs=3, start_method="spawn")
