# /// case
# cause = "killed_unknown"
# paper_class = "traceback"
# exit_code = 1
# why = "a rank was ended by SIGKILL and nothing says by whom"
# ///
"""One of the spawned ranks is killed with SIGKILL."""

import os
import signal
import time

import torch.multiprocessing as mp


def worker(rank, steps):
    for step in range(steps):
        time.sleep(0.05)
        if step % 5 == 0:
            print(f"[rank {rank}] step {step} loss {1.5 / (step + 1):.4f}", flush=True)
        if rank == 1 and step == 12:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    print("spawning 2 ranks", flush=True)
    mp.spawn(worker, args=(200,), nprocs=2)
