# /// case
# cause = "runtime_error"
# exit_code = 1
# timeout_s = 180
# why = "the workers leave without a trace, and neither the nannies nor the scheduler name a signal"
# ///
"""Workers vanish by SIGKILL whenever they run one of the tasks."""

import os
import signal
import sys

import dask
import numpy as np
from dask.distributed import Client, LocalCluster


def score(member):
    rng = np.random.default_rng(member)
    if member == 11:
        os.kill(os.getpid(), signal.SIGKILL)
    return float(-(rng.normal(size=20) ** 2).sum())


def evolve(client, generations, size):
    members = np.arange(size)
    for generation in range(generations):
        fitness = client.gather(client.map(score, members.tolist(), pure=False))
        print(
            f"generation {generation}: best {max(fitness):.3f} mean {np.mean(fitness):.3f}",
            file=sys.stderr,
            flush=True,
        )
        members = members + 2
    return members


def main():
    with dask.config.set({"distributed.scheduler.allowed-failures": 2}):
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            print("survivors", evolve(client, 10, 6))


if __name__ == "__main__":
    main()
