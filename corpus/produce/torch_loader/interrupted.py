# /// case
# cause = "cancelled"
# paper_class = "traceback"
# exit_code = -2
# stop = {signal = "INT", when = "step 20", pid = "group"}
# env = {PYTHONUNBUFFERED = "1"}
# ///
"""Ctrl-C reaches the trainer and all its workers, and each prints a traceback."""

import time

import torch
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, i):
        time.sleep(0.01)
        return torch.randn(5)


if __name__ == "__main__":
    w = torch.zeros(5, requires_grad=True)
    for step, x in enumerate(DataLoader(Slow(), batch_size=8, num_workers=3)):
        loss = (x @ w - 1).square().mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.05 * w.grad
            w.grad.zero_()
        print("step", step, "loss", round(loss.item(), 5))
