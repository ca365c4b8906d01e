# /// case
# cause = "cuda_environment"
# paper_class = "runtime_error"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 1 {program}"
# why = "a torch wheel without CUDA and so without NCCL"
# ///
"""The NCCL backend is asked for with a CPU build of torch."""

import os

import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


@record
def main():
    print(f"[rank {os.environ['RANK']}] init_process_group(backend='nccl')", flush=True)
    dist.init_process_group(backend="nccl")
    dist.barrier()


main()
