# /// case
# cause = "pickling"
# paper_class = "traceback"
# exit_code = 1
# ///
"""A dataset that keeps its HDF5 file open cannot be sent to spawned loader workers."""

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Features(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path, "r")
        self.x = self.file["x"]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i])


if __name__ == "__main__":
    with h5py.File("features.h5", "w") as file:
        file["x"] = np.random.default_rng(0).normal(size=(64, 8))
    dataset = Features("features.h5")
    print("rows", len(dataset))
    for batch in DataLoader(dataset, 16, num_workers=2, multiprocessing_context="spawn"):
        print(batch.shape)
