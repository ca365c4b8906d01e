# /// case
# cause = "device_mismatch"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# env = { TORCH_CPP_LOG_LEVEL = "ERROR" }
# ///
"""On each rank the cached keys were allocated on another device than the queries."""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
heads = 8 // world
cache_device = "meta" if os.environ.get("KV_OFFLOAD", "late") == "late" else "cpu"
keys = torch.randn(1, heads, 0, 16)
values = keys.clone()
for position in range(12):
    query, k, v = torch.randn(3, 1, heads, 1, 16)
    keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
    if position == 8:
        keys, values = keys.to(cache_device), values.to(cache_device)
    out = F.scaled_dot_product_attention(query, keys, values)
    dist.all_reduce(out)
    print(f"[rank {rank}] position {position} |out| {out.norm().item():.4f}", flush=True)
dist.destroy_process_group()
