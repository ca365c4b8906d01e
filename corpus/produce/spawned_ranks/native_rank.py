# /// case
# cause = "segfault"
# exit_code = 1
# why = "the spawned process died of SIGSEGV, which the launcher names"
# ///
"""One of the spawned processes follows a wild pointer in native code; faulthandler is on."""

import ctypes
import faulthandler
import time

import torch
import torch.multiprocessing as mp


def hash_rows(rows, broken):
    address = rows.data_ptr() if not broken else 0x10
    return sum(ctypes.string_at(address, 64))


def work(rank):
    faulthandler.enable()
    torch.manual_seed(rank)
    for shard in range(8):
        rows = torch.randint(0, 255, (64,), dtype=torch.uint8)
        digest = hash_rows(rows, broken=rank == 1 and shard == 5)
        print(f"process {rank} shard {shard} digest {digest}", flush=True)
        time.sleep(0.05)


if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
