# /// case
# cause = "device_mismatch"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# why = "the tensors are on a device for which the group has no backend"
# ///
"""The metric to be reduced is on a device that the process group does not serve."""

import torch
import torch.distributed as dist

dist.init_process_group("cpu:gloo")
rank = dist.get_rank()
metric = torch.zeros(2)
for epoch in range(4):
    metric = metric + torch.tensor([1.0 / (epoch + 1), rank])
    if epoch == 2:
        metric = torch.empty_like(metric, device="meta")
    dist.all_reduce(metric)
    if rank == 0:
        print(f"epoch {epoch}: val_loss={metric[0].item() / 2:.4f}", flush=True)
dist.destroy_process_group()
