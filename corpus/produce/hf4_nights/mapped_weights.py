# /// case
# cause = "host_oom"
# exit_code = 1
# command = "bash -c 'ulimit -v 7000000; python {program}'"
# environment = "hf4"
# why = "mapping a file into memory fails with ENOMEM"
# ///
"""A sparse file of weights is mapped into memory, larger than the address space that the job may use."""

import mmap
import os

import torch
from transformers import AutoConfig

torch.set_num_threads(1)
config = AutoConfig.for_model("gpt2", n_layer=2, n_embd=64)
print(config.model_type, "hidden", config.n_embd)
for shard, gib in enumerate((0.01, 0.1, 24), start=1):
    name = f"model-{shard:05d}-of-00003.bin"
    with open(name, "wb") as file:
        file.truncate(int(gib * 2**30))
    with open(name, "rb") as file:
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        weights = torch.frombuffer(view, dtype=torch.float32, count=1024)
        print(
            f"{name}: {os.path.getsize(name) >> 20} MiB, first block {weights.sum().item():.1f}",
            flush=True,
        )
