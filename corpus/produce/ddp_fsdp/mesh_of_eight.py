# /// case
# cause = "config"
# paper_class = "runtime_error"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program} --tp 4 --dp 2"
# why = "the mesh that is asked for is larger than the world"
# ///
"""A device mesh of 2x4 is asked for with two ranks."""

import argparse

import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

parser = argparse.ArgumentParser()
parser.add_argument("--tp", type=int, default=1)
parser.add_argument("--dp", type=int, default=1)
args = parser.parse_args()
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (args.dp, args.tp), mesh_dim_names=("dp", "tp"))
print(mesh)
