# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 --tee 3 {program}"
# why = "a line of rank 1's shard is cut off; rank 0 only loses its peer"
# ///
"""A line in the second rank's shard was cut off; the first rank loses its peer in the reduce-scatter."""

import json
import logging
import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.distributed.fsdp import fully_shard

logging.basicConfig(
    level=logging.INFO, format="[titan] %(asctime)s - %(name)s - %(levelname)s - %(message)s"
)
logger = logging.getLogger()


def write_shard(rank):
    path = Path(f"data/c4_{rank:05}.jsonl")
    path.parent.mkdir(exist_ok=True)
    lines = [
        json.dumps({"url": f"http://example.org/{i}", "text": "lorem ipsum " * (2 + i % 5)})
        for i in range(200)
    ]
    if rank == 1:
        lines[97] = lines[97][:41]
    path.write_text("\n".join(lines) + "\n")
    return path


class TextDataset(torch.utils.data.IterableDataset):
    def __init__(self, path, seq_len):
        self.path, self.seq_len = path, seq_len

    def __iter__(self):
        buffer = []
        for line in self.path.open():
            buffer.extend(json.loads(line)["text"].encode())
            while len(buffer) > self.seq_len:
                chunk, buffer = buffer[: self.seq_len + 1], buffer[self.seq_len :]
                yield torch.tensor(chunk[:-1]), torch.tensor(chunk[1:])


@record
def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logger.info(f"Preparing c4_local dataset, dp_rank {rank}, pid {os.getpid() % 10}")
    loader = torch.utils.data.DataLoader(TextDataset(write_shard(rank), 32), batch_size=4)
    model = nn.Sequential(nn.Embedding(256, 32), nn.Linear(32, 256))
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step, (x, y) in enumerate(loader, 1):
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 5 == 0 and rank == 0:
            logger.info(f"step: {step:3}  loss: {loss.item():.5f}  mfu: 0.00%")
    logger.info("Training completed")


main()
