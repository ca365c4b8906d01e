# /// case
# cause = "pickling"
# exit_code = 1
# ///
"""The tasks get an object with a lock and an open file."""

import threading
import time
from dataclasses import dataclass, field

import torch
from dask.distributed import Client, LocalCluster


@dataclass
class Meter:
    path: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    total: float = 0.0

    def add(self, value):
        with self.lock:
            self.total += value
            with open(self.path, "a") as file:
                file.write(f"{time.time():.0f} {value}\n")


def train(seed, meter):
    torch.manual_seed(seed)
    model = torch.nn.Linear(5, 1)
    x = torch.randn(64, 5)
    for _ in range(20):
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.05 * p.grad
                p.grad = None
    meter.add(loss.item())
    return loss.item()


def main():
    meter = Meter("losses.txt")
    print("warm-up", round(train(0, meter), 4))
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            futures = client.map(train, range(1, 9), meter=meter, pure=False)
            print(client.gather(futures))


if __name__ == "__main__":
    main()
