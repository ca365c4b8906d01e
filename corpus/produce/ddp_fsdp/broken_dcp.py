# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# ///
"""A distributed checkpoint lacks a key of the grown model; every rank says so."""

import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn


def main():
    dist.init_process_group("gloo")
    old = nn.ModuleDict({"encoder": nn.Linear(8, 8), "head": nn.Linear(8, 3)})
    dcp.save({"model": old.state_dict()}, checkpoint_id="ckpt/step_100")
    dist.barrier()
    if dist.get_rank() == 0:
        print("checkpoint step_100 written, rebuilding the model with an adapter", flush=True)
    new = nn.ModuleDict(
        {"encoder": nn.Linear(8, 8), "adapter": nn.Linear(8, 8), "head": nn.Linear(8, 3)}
    )
    dcp.load({"model": new.state_dict()}, checkpoint_id="ckpt/step_100")
    print("resumed")


main()
