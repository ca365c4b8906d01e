# /// case
# cause = "too_many_files"
# paper_class = "traceback"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program} --epochs 3 --keep-open"
# why = "the limit on open descriptors is reached on rank 0, which mixes more corpora"
# ///
"""Each rank keeps its token files open; the one with more corpora reaches the limit in the second epoch."""

import argparse
import os
import resource

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96))
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--keep-open", action="store_true")
args = parser.parse_args()


class Corpus:
    def __init__(self, name, files):
        os.makedirs(name, exist_ok=True)
        self.paths = [f"{name}/{i:04d}.bin" for i in range(files)]
        self.handles = []
        for path in self.paths:
            np.random.randint(0, 200, 256, dtype=np.int32).tofile(path)

    def read(self, i):
        handle = open(self.paths[i % len(self.paths)], "rb")
        if args.keep_open:
            self.handles.append(handle)
        return torch.frombuffer(bytearray(handle.read()), dtype=torch.int32).long()


dist.init_process_group("gloo")
rank = dist.get_rank()
corpora = [Corpus(f"rank{rank}/{name}", 12) for name in ("wiki", "code", "news")[: 3 - 2 * rank]]
model = DistributedDataParallel(nn.Sequential(nn.Embedding(200, 16), nn.Linear(16, 200)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(args.epochs):
    for i in range(12):
        ids = torch.stack([corpus.read(i + 12 * epoch) for corpus in corpora])
        loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"rank {rank} epoch {epoch} loss {loss.item():.4f}", flush=True)
dist.destroy_process_group()
