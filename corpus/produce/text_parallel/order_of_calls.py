# /// case
# cause = "collective"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 3 {program}"
# env = {TORCH_DISTRIBUTED_DEBUG = "DETAIL"}
# why = "the ranks do not call the same collectives in the same order, as the debug mode says"
# ///
"""One rank gathers its statistics where the others reduce theirs; the debug mode finds the mismatch."""

import os
import time

import torch
import torch.distributed as dist
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.EmbeddingBag(500, 32), nn.Linear(32, 6)

    def forward(self, ids):
        return self.head(self.embed(ids))


def report(step, loss, tokens):
    if tokens.max() >= 499 and step > 20:
        parts = [torch.zeros_like(loss) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, loss)
        return torch.stack(parts).mean().item()
    dist.all_reduce(loss)
    return loss.item() / dist.get_world_size()


def main():
    dist.init_process_group("gloo")
    rank = int(os.environ["LOCAL_RANK"])
    torch.manual_seed(rank)
    model = Tagger()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for step in range(40):
        ids = torch.randint(0, 498, (16, 20))
        if rank == 1:
            ids[0, 0] = 499
        loss = nn.functional.cross_entropy(model(ids), ids[:, 1] % 6)
        optimizer.zero_grad()
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        optimizer.step()
        time.sleep(0.01)
        if step % 5 == 0:
            mean = report(step, loss.detach().clone(), ids)
            if rank == 0:
                print(f"step {step:3d} mean loss over ranks {mean:.4f}", flush=True)
    dist.destroy_process_group()


main()
