# /// case
# cause = "none"
# exit_code = 0
# command = "torchrun --standalone --nproc-per-node 2 --max-restarts 2 {program}"
# why = "the elastic restart recovered and the second attempt ends well"
# ///
"""The first attempt dies of a broken shard; the agent restarts the workers, who finish."""

import os

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


@record
def main():
    dist.init_process_group("gloo")
    rank, attempt = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    start = 0
    if os.path.exists("snapshot.pt"):
        start = torch.load("snapshot.pt")["step"]
        print(f"[rank {rank}] resuming from snapshot at step {start}", flush=True)
    weight = torch.zeros(10)
    for step in range(start, 12):
        if attempt == 0 and step == 7 and rank == 1:
            raise OSError(5, "Input/output error", "shard-00007.tar")
        gradient = torch.full((10,), float(step))
        dist.all_reduce(gradient)
        weight -= 0.01 * gradient
        if rank == 0:
            print(f"step {step} |w| {weight.norm():.3f}", flush=True)
            if step % 3 == 0:
                torch.save({"step": step, "weight": weight}, "snapshot.pt")
    if rank == 0:
        print("training finished, final snapshot written", flush=True)
    dist.barrier()
    dist.destroy_process_group()


main()
