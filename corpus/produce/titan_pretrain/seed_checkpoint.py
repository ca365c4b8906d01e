# /// case
# cause = "checkpoint"
# paper_class = "runtime_error"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# why = "the seed checkpoint in the folder was saved by a model of another width"
# ///
"""A seed checkpoint of a narrower flavor is loaded into the sharded model."""

import logging
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

logging.basicConfig(
    level=logging.INFO, format="[titan] %(asctime)s - %(name)s - %(levelname)s - %(message)s"
)
log = logging.getLogger()


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.RMSNorm(dim)
        self.w1 = nn.Linear(dim, 4 * dim, bias=False)
        self.w2 = nn.Linear(4 * dim, dim, bias=False)

    def forward(self, x):
        return x + self.w2(torch.relu(self.w1(self.norm(x))))


def build(dim, layers, mesh):
    model = nn.Sequential(nn.Embedding(256, dim), *(Block(dim) for _ in range(layers)))
    for layer in model[1:]:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    size = sum(p.numel() for p in model.parameters())
    log.info(f"\033[34mModel llama3 {dim}x{layers}\033[31m size: {size:,} total parameters\033[39m")
    return model


def create_seed(mesh, folder):
    model = build(48, 2, mesh)
    log.info("Creating a seed checkpoint, step 0")
    dcp.save({"model": get_model_state_dict(model)}, checkpoint_id=folder)


def main():
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp_shard",))
    folder = os.path.abspath("outputs/checkpoint/step-0")
    create_seed(mesh, folder)
    dist.barrier()
    model = build(64, 2, mesh)
    log.info(f"Loading the checkpoint from {folder}.")
    state = {"model": get_model_state_dict(model)}
    dcp.load(state, checkpoint_id=folder)
    log.info("Finished loading the checkpoint in 0.12 seconds.")
    dist.destroy_process_group()


main()
