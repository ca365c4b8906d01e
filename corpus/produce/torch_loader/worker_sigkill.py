# /// case
# cause = "killed_unknown"
# paper_class = "runtime_error"
# exit_code = 1
# why = "a worker is gone by SIGKILL and nothing says who sent it"
# ///
"""Somebody kills one of the loader's workers in the middle of an epoch."""

import os
import signal
import subprocess
import sys
import time

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        torch.manual_seed(info.id)
        for _ in range(200):
            time.sleep(0.01)
            yield torch.randn(16), torch.randint(0, 2, ())


def main():
    loader = DataLoader(Stream(), batch_size=4, num_workers=2, persistent_workers=True)
    model = torch.nn.Linear(16, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step, (x, y) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"step {step:4d} loss {loss.item():.4f} workers alive 2", flush=True)
        if step == 22 and "--keep" not in sys.argv:
            children = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True)
            os.kill(int(children.stdout.split()[0]), signal.SIGKILL)


if __name__ == "__main__":
    main()
