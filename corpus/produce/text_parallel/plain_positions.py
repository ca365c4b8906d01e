# /// case
# cause = "runtime_error"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 --redirects 0 {program}"
# why = "sharded parameters are mixed with a plain tensor in the program's own regularizer"
# ///
"""The penalty on sharded parameters (FSDP2) mixes them with a plain tensor, after the warm-up without it."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Decoder(nn.Module):
    def __init__(self, vocabulary=120, width=32, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 64, 0.0) for _ in range(depth)
        )
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def anchor_penalty(model, anchor):
    return sum((p - anchor[name]).square().sum() for name, p in model.named_parameters())


def main():
    mesh = init_device_mesh("cpu", (int(os.environ["WORLD_SIZE"]),))
    torch.manual_seed(11)
    model = Decoder()
    anchor = {name: p.detach().clone() for name, p in model.named_parameters()}
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(1, 31):
        ids = torch.randint(0, 120, (12, 4))
        loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        if step > 15:
            loss = loss + 1e-4 * anchor_penalty(model, anchor)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0 and step % 5 == 0:
            print({"step": step, "loss": round(loss.item(), 4), "anchor": step > 15}, flush=True)
    dist.destroy_process_group()


main()
