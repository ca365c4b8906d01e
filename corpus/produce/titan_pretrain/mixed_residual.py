# /// case
# cause = "runtime_error"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 --log-dir torchelastic {program}"
# why = "a plain tensor is added to a DTensor: the tensor parallel plan leaves the embedding out, a defect of the program"
# ///
"""A learned position table that no plan shards is added to a DTensor."""

import sys

import torch
import torch.distributed as dist
from loguru import logger
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

logger.remove()
logger.add(
    sys.stderr,
    format="{time:YYYY-MM-DD HH:mm:ss.SSS} | {level: <8} | {name}:{function} - {message}",
    backtrace=False,
)


class Decoder(nn.Module):
    def __init__(self, vocab=128, dim=32, length=16):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim)
        self.positions = nn.Parameter(torch.zeros(length, dim))
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.tokens(ids) + self.positions
        h = h + self.down(torch.relu(self.up(self.norm(h))))
        return self.head(h)


def apply_tp(model, mesh):
    plan = {
        "tokens": RowwiseParallel(
            input_layouts=Replicate(), output_layouts=Shard(1), use_local_output=False
        ),
        "norm": SequenceParallel(),
        "up": ColwiseParallel(input_layouts=Shard(1)),
        "down": RowwiseParallel(output_layouts=Shard(1)),
        "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
    }
    logger.info("Applied Tensor Parallelism to the model: {} modules", len(plan))
    return parallelize_module(model, mesh, plan)


def main():
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
    torch.manual_seed(42)
    model = apply_tp(Decoder(), mesh["tp"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(1, 11):
        ids = torch.randint(0, 128, (4, 16))
        loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        logger.info("step: {:2} loss: {:.4f}", step, loss.item())


if __name__ == "__main__":
    main()
