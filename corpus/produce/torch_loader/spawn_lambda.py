# /// case
# cause = "pickling"
# paper_class = "traceback"
# exit_code = 1
# ///
"""A lambda in the data set cannot be sent to spawned workers."""

import torch
from torch.utils.data import DataLoader, Dataset


class Transformed(Dataset):
    def __init__(self, base, transform):
        self.base = base
        self.transform = transform

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        return self.transform(self.base[i])


def main():
    base = torch.arange(100.0)
    dataset = Transformed(base, lambda x: (x - 50) / 29)
    loader = DataLoader(dataset, 10, num_workers=2, multiprocessing_context="spawn")
    print("batches per epoch:", len(loader), flush=True)
    for batch in loader:
        print(batch.sum())


if __name__ == "__main__":
    main()
