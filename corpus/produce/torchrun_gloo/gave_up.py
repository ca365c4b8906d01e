# /// case
# cause = "file_not_found"
# paper_class = "file_not_found"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 --max-restarts 1 {program}"
# why = "every attempt meets the same missing file"
# ///
"""Both attempts of the agent end at the same missing tokenizer file."""

import os

import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


@record
def main():
    dist.init_process_group("gloo")
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    print(f"[rank {dist.get_rank()}] attempt {attempt}", flush=True)
    with open("assets/merges.txt", encoding="utf-8") as file:
        print(len(file.readlines()), "merges")


main()
