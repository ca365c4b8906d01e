# /// case
# cause = "segfault"
# exit_code = 1
# why = "SIGBUS because the mapped file became shorter; it is not shared memory"
# ///
"""The memory-mapped token file is rewritten, shorter, while the ranks read from it: a bus error."""

import os

import numpy as np
import torch
import torch.multiprocessing as mp

TOKENS = 1 << 20


def reader(rank, started):
    data = np.memmap("train.bin", dtype=np.uint16, mode="r")
    started.wait()
    for chunk in range(rank, 32, 2):
        part = torch.from_numpy(data[chunk * (TOKENS // 32) :][:4096].astype(np.int64))
        print(f"rank {rank} chunk {chunk} mean token {part.float().mean():.1f}", flush=True)


def main():
    np.arange(TOKENS, dtype=np.uint16).tofile("train.bin")
    started = mp.get_context("spawn").Barrier(3)
    context = mp.spawn(reader, args=(started,), nprocs=2, join=False)
    while started.n_waiting < 2:
        pass
    os.truncate("train.bin", 1 << 20)
    started.wait()
    while not context.join():
        pass


if __name__ == "__main__":
    main()
