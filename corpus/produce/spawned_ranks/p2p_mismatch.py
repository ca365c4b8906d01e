# /// case
# cause = "collective"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# why = "send and receive of a formed group do not fit; gloo's own check is the first error"
# ///
"""The stages of a pipeline send activations of the last, smaller batch into a buffer of full size."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
sizes = [32, 32, 32, 32, 40]
for n, size in enumerate(sizes):
    if rank == 0:
        dist.send(torch.randn(size, 64), dst=1)
    else:
        buffer = torch.empty(32, 64)
        dist.recv(buffer, src=0)
        print(f"stage 1: micro-batch {n} activation norm {buffer.norm().item():.3f}", flush=True)
dist.barrier()
dist.destroy_process_group()
