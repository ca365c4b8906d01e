# /// case
# cause = "collective"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# why = "the ranks take different ways through the program; no error is there before gloo's own"
# ///
"""One rank leaves the barrier of evaluation out, and the other runs into the time limit of gloo."""

import datetime
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=6))
rank = dist.get_rank()
for step in range(30):
    grad = torch.full((4,), 1.0 / (step + 1))
    dist.all_reduce(grad)
    if step % 5 == 0:
        print(
            f"{time.strftime('%H:%M:%S')} rank {rank} step {step} grad {grad[0].item():.4f}",
            flush=True,
        )
    if step == 15 and rank == 0:
        parts = [torch.zeros(4) for _ in range(2)]
        dist.all_gather(parts, grad)
        time.sleep(20)
    if step == 15 and rank == 1:
        parts = [torch.zeros(4) for _ in range(2)]
        dist.all_gather(parts, grad)
        dist.barrier()
dist.destroy_process_group()
