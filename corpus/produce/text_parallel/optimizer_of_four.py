# /// case
# cause = "checkpoint"
# paper_class = "file_not_found"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 4 {program}"
# why = "the missing file is the optimizer shard of a rank that the run which wrote the checkpoint did not have"
# ///
"""A run of two ranks is resumed with four; the optimizer shards of the upper ranks were never written."""

import json
import logging
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

RANK = int(os.environ["RANK"])
logging.basicConfig(
    level=logging.INFO,
    format=f"%(asctime)s [R{RANK}] %(levelname)s %(message)s",
    datefmt="%H:%M:%S",
)


class Bigram(nn.Module):
    def __init__(self, vocabulary=96):
        super().__init__()
        self.table = nn.Embedding(vocabulary, vocabulary)

    def forward(self, ids):
        return nn.functional.cross_entropy(
            self.table(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()
        )


def earlier_run(folder, world):
    os.makedirs(folder)
    model = Bigram()
    optimizer = torch.optim.AdamW(model.parameters())
    torch.save(model.state_dict(), f"{folder}/model.pt")
    for rank in range(world):
        torch.save(optimizer.state_dict(), f"{folder}/optim_rank{rank:02d}.pt")
    with open(f"{folder}/meta.json", "w") as file:
        json.dump({"step": 5000, "world_size": world, "tokens": 81920000}, file)


def resume(model, optimizer, folder):
    with open(f"{folder}/meta.json") as file:
        meta = json.load(file)
    logging.info("resuming %s: %s", folder, meta)
    model.load_state_dict(torch.load(f"{folder}/model.pt"))
    optimizer.load_state_dict(torch.load(f"{folder}/optim_rank{RANK:02d}.pt"))
    return meta["step"]


def main():
    dist.init_process_group("gloo")
    folder = "ckpt/step-0005000"
    if RANK == 0:
        earlier_run(folder, world=2)
    dist.barrier()
    model = DistributedDataParallel(Bigram())
    optimizer = torch.optim.AdamW(model.parameters())
    step = resume(model.module, optimizer, folder)
    for step in range(step, step + 20):
        loss = model(torch.randint(0, 96, (8, 33)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    logging.info("step %d loss %.3f", step, loss.item())
    dist.destroy_process_group()


main()
