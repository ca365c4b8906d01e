# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 4 --log-dir logs --tee 3 {program}"
# why = "rank 2 meets a broken line in its shard; the other ranks only lose their peer"
# ///
"""A line in the shard of one of four ranks is cut in the middle; launcher output is teed with prefixes."""

import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def write_shards(world):
    os.makedirs("shards", exist_ok=True)
    for rank in range(world):
        with open(f"shards/part-{rank:03d}.jsonl", "w") as file:
            for i in range(64):
                line = json.dumps(
                    {"id": i, "text": "the loss of the crop was an error of the season " * 2}
                )
                file.write((line[:41] if (rank, i) == (2, 37) else line) + "\n")


def batches(path, size=4):
    rows = []
    with open(path) as file:
        for line in file:
            text = json.loads(line)["text"].encode()[:64].ljust(64)
            rows.append(torch.tensor(list(text)))
            if len(rows) == size:
                yield torch.stack(rows)
                rows = []


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        write_shards(world)
    dist.barrier()
    model = DistributedDataParallel(nn.Sequential(nn.Embedding(256, 24), nn.Linear(24, 256)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step, ids in enumerate(batches(f"shards/part-{rank:03d}.jsonl")):
        loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step={step} loss={loss.item():.3f} lr=3.0e-03", file=sys.stderr, flush=True)
    dist.destroy_process_group()


main()
