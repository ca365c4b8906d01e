# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python {program}"
# needs = ["root"]
# why = "the traceback of process 1 is repeated by the launcher"
# ///
"""The folder of the second process' shards cannot be entered."""

import os
import pathlib

import torch
import torch.multiprocessing as mp


def consume(rank, root):
    folder = pathlib.Path(root, f"shard_{rank}")
    total = torch.zeros(3)
    for file in sorted(folder.glob("*.pt")):
        total += torch.load(file)
    print(f"[{os.getpid() and rank}] {folder}: {total.tolist()}", flush=True)
    for name in ("a.pt", "b.pt"):
        total += torch.load(folder / name)
    print(f"[{rank}] second pass {total.sum().item()}", flush=True)


if __name__ == "__main__":
    for rank in range(2):
        os.makedirs(f"cache/shard_{rank}")
        for name in ("a.pt", "b.pt"):
            torch.save(torch.rand(3), f"cache/shard_{rank}/{name}")
    os.chmod("cache/shard_1", 0o600)
    try:
        mp.spawn(consume, args=("cache",), nprocs=2)
    finally:
        os.chmod("cache/shard_1", 0o700)
