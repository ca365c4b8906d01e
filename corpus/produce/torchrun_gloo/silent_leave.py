# /// case
# cause = "runtime_error"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# why = "one rank leaves with exit status 13 and no word; the reset connection of the other is a consequence"
# ///
"""One rank leaves through a library's exit, without any message."""

import os

import torch
import torch.distributed as dist


def licence_check(step):
    if step == 25 and os.environ["RANK"] == "0":
        os._exit(13)


def main():
    dist.init_process_group("gloo")
    state = torch.zeros(1000)
    for step in range(60):
        licence_check(step)
        update = torch.randn(1000)
        dist.all_reduce(update)
        state += update
        if step % 5 == 0 and dist.get_rank() == 1:
            print(f"iter {step}: state norm {state.norm().item():.2f}", flush=True)
    dist.destroy_process_group()


main()
