# /// case
# cause = "shared_memory"
# paper_class = "runtime_error"
# exit_code = 1
# command = "unshare -m bash -c 'mount -t tmpfs -o size=3m tmpfs /dev/shm && python {program}'"
# needs = ["root"]
# ///
"""Interaction blocks are put into shared memory between processes, and /dev/shm has room for few."""

import torch
import torch.multiprocessing as mp

torch.manual_seed(0)
mp.set_sharing_strategy("file_system")
blocks = []
for block in range(12):
    interactions = torch.randint(0, 1000, (40, 1024))
    blocks.append(interactions.share_memory_())
    print(
        f"shared block {block}: {interactions.nbytes >> 10} KiB, max id {interactions.max()}",
        flush=True,
    )
print("starting 4 readers")
