# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# command = "torchrun --nproc-per-node 2 --rdzv-backend c10d --rdzv-endpoint localhost:0 --local-ranks-filter 0,1 --role rank --tee 3 {program}"
# why = "the degree of tensor parallelism in the job file does not divide the heads of the flavor"
# ///
"""The degree of tensor parallelism does not divide the key and value heads of the model flavor."""

import logging
import os
import tomllib
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

JOB = """
[model]
name = "llama3"
flavor = "debugmodel"
[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = 1
tensor_parallel_degree = 2
pipeline_parallel_degree = 1
[training]
local_batch_size = 8
seq_len = 2048
"""

logging.basicConfig(
    level=logging.INFO, format="[titan] %(asctime)s - %(name)s - %(levelname)s - %(message)s"
)
log = logging.getLogger()


@dataclass
class ParallelDims:
    dp_replicate: int
    dp_shard: int
    tp: int
    pp: int
    world_size: int

    def __post_init__(self):
        for degree in (self.dp_replicate, self.tp, self.pp):
            assert degree >= 1, "Parallelism degree should be >= 1, except for dp_shard"
        assert self.dp_replicate * self.dp_shard * self.tp * self.pp == self.world_size, (
            f"Invalid parallel dims: dp_replicate({self.dp_replicate}) * dp_shard({self.dp_shard}) * "
            f"tp({self.tp}) * pp({self.pp}) != WORLD_SIZE({self.world_size})"
        )

    def build_mesh(self):
        return init_device_mesh("cpu", (self.dp_shard, self.tp), mesh_dim_names=("dp_shard", "tp"))


FLAVORS = {
    "debugmodel": {"n_heads": 9, "n_kv_heads": 3, "dim": 576},
    "8B": {"n_heads": 32, "n_kv_heads": 8, "dim": 4096},
}


def parallelize_llama(flavor, mesh):
    heads = FLAVORS[flavor]["n_kv_heads"]
    if heads % mesh["tp"].size():
        raise ValueError(
            f"number of key/value heads {heads} must be divisible by the tensor parallel degree {mesh['tp'].size()}"
        )


def main():
    job = tomllib.loads(JOB)
    log.info("Starting job: Llama 3 debug training")
    log.warning(
        "ENV[TORCH_NCCL_ASYNC_ERROR_HANDLING] = 1 will be overridden to 3 based on job config"
    )
    dist.init_process_group("gloo")
    log.info("torch %s, %s threads", torch.__version__, torch.get_num_threads())
    settings = job["parallelism"]
    dims = ParallelDims(
        settings["data_parallel_replicate_degree"],
        settings["data_parallel_shard_degree"],
        settings["tensor_parallel_degree"],
        settings["pipeline_parallel_degree"],
        int(os.environ["WORLD_SIZE"]),
    )
    mesh = dims.build_mesh()
    log.info("Built mesh %s", mesh)
    log.info("Building %s %s", job["model"]["name"], job["model"]["flavor"])
    parallelize_llama(job["model"]["flavor"], mesh)
    log.info("Applied Tensor Parallelism to the model")


main()
