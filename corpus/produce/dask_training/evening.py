# /// case
# cause = "cancelled"
# paper_class = ""
# exit_code = -2
# stop = {signal = "INT", when = "epoch 6"}
# why = "SIGINT reaches the driver, as by Ctrl-C; what the workers say follows"
# ///
"""A parameter server of futures, interrupted from the keyboard."""

import time

import numpy as np
from dask.distributed import Client, wait


def gradient(w, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(200, w.size))
    time.sleep(0.2)
    return x.T @ (x @ w - x.sum(1)) / 200


def main():
    w = np.zeros(8)
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        for epoch in range(1000):
            futures = client.map(gradient, [w] * 4, range(epoch * 4, epoch * 4 + 4))
            wait(futures)
            w = w - 0.1 * np.mean(client.gather(futures), 0)
            print(f"epoch {epoch} error {np.abs(w - 1).max():.4f}", flush=True)


if __name__ == "__main__":
    main()
