# /// case
# cause = "dtype_mismatch"
# paper_class = "traceback"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 1 {program}"
# why = "number types of parameters that FSDP flattens together do not fit"
# ///
"""FSDP cannot flatten a bfloat16 body and a float32 head together."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def main():
    dist.init_process_group("gloo")
    model = nn.Sequential(nn.Linear(16, 16, dtype=torch.bfloat16), nn.Linear(16, 4))
    print(f"{sum(p.numel() for p in model.parameters())} parameters", flush=True)
    model = FSDP(model, device_id=torch.device("cpu"))
    print(model(torch.randn(2, 16)).shape)


main()
