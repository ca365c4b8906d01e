# /// case
# cause = "file_not_found"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# why = "the folder of the data set on the shared disk is not there, in a ValueError and a ChildFailedError"
# ///
"""The folder of the tokenized data is not mounted; the builder wraps the error in its own."""

import logging
import os

import numpy as np
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.elastic.multiprocessing.errors import record

logging.basicConfig(
    level=logging.INFO, format="[titan] %(asctime)s - %(name)s - %(levelname)s - %(message)s"
)
logger = logging.getLogger()
DATASETS = {"c4": "/mnt/lustre/datasets/c4-llama3/train", "c4_test": "tests/assets/c4_test"}


def open_tokens(folder):
    return [
        np.memmap(f"{folder}/{name}", dtype=np.uint16, mode="r")
        for name in sorted(os.listdir(folder))
    ]


def build_dataset(name):
    if name not in DATASETS:
        raise ValueError(
            f"Dataset {name} is not supported. Supported datasets are: {list(DATASETS)}"
        )
    try:
        return open_tokens(DATASETS[name])
    except OSError as error:
        raise ValueError(f"Dataset {name} could not be built") from error


@record
def main():
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("dp_shard",))
    logger.info(f"Building 1-D device mesh with ['dp_shard'], {mesh.size()}")
    logger.info("CUDA is not available, peak FLOPS of the device are unknown, set to 0")
    tokens = build_dataset("c4")
    logger.info(f"{sum(map(len, tokens)):,} tokens")


main()
