# /// case
# cause = "oom_killer"
# paper_class = "oom_killer"
# exit_code = 1
# timeout_s = 180
# why = "the nanny says that the worker was restarted for its memory; KilledWorker at the end follows from it"
# ///
"""A task holds more memory than the worker's budget, and the nanny restarts the worker again and again."""

import time

import dask
import numpy as np
from dask.distributed import Client


def grow(step):
    kept = []
    for i in range(40):
        kept.append(np.full(12_000_000, step, dtype=np.float64))
        time.sleep(0.1)
    return sum(float(one[0]) for one in kept)


def small(step):
    return float(np.ones(1000).sum()) + step


def main():
    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 1,
            "distributed.admin.log-format": "%(asctime)s - %(name)s - %(levelname)s - %(message)s",
        }
    )
    with Client(
        n_workers=1, threads_per_worker=1, memory_limit="1GB", dashboard_address=None
    ) as client:
        print("workers", len(client.scheduler_info()["workers"]), flush=True)
        for step, task in enumerate([small, small, grow]):
            print(
                "epoch",
                step,
                "feature sum",
                client.submit(task, step, pure=False).result(),
                flush=True,
            )


if __name__ == "__main__":
    main()
