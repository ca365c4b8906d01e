# /// case
# cause = "runtime_error"
# exit_code = 1
# why = "a worker left without a trace or a signal's name"
# ///
"""A native reader ends its worker process with exit(3) and without a word."""

import os

import torch
from torch.utils.data import DataLoader, Dataset


class Volume(Dataset):
    def __init__(self, length, reader="mmap"):
        self.length = length
        self.reader = reader

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if index == 45:
            os._exit(3)
        return torch.full((4, 4, 4), float(index))


if __name__ == "__main__":
    loader = DataLoader(Volume(64), batch_size=8, num_workers=3, prefetch_factor=2)
    seen = 0
    for batch in loader:
        seen += batch.shape[0]
        print("processed", seen, "volumes, mean", round(batch.mean().item(), 3), flush=True)
