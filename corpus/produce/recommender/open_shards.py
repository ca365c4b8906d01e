# /// case
# cause = "too_many_files"
# paper_class = "traceback"
# exit_code = 1
# ///
"""Each user shard stays open as a memory map of its own, more than the process may hold."""

import resource

import numpy as np
import torch

resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
np.save("template.npy", np.arange(64, dtype=np.float32))
body = open("template.npy", "rb").read()
readers = []
for shard in range(400):
    name = f"user_{shard:04d}.npy"
    with open(name, "wb") as file:
        file.write(body)
    readers.append(open(name, "rb"))
    rows = torch.from_numpy(np.load(readers[-1]))
    if shard % 25 == 0:
        print(f"indexed {shard} shards, checksum {rows.sum().item():.1f}", flush=True)
