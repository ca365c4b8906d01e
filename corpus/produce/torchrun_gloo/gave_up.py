# /// case
# cause = "file_not_found"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 --max-restarts 1 {program}"
# why = "every attempt meets the same missing file"
# ///
"""Both attempts of the agent end at the same missing tokenizer file."""

import os

import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


def merges(path="assets/merges.txt"):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


@record
def main():
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    print(f"[rank {os.environ['RANK']}] attempt {attempt}", flush=True)
    vocabulary = merges()
    dist.init_process_group("gloo")
    print(len(vocabulary), "merges")


main()
