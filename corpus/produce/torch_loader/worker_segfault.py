# /// case
# cause = "runtime_error"
# exit_code = 1
# why = "the log does not show the signal: a worker that left without a trace"
# ///
"""A decoder reads through a null pointer in a worker."""

import ctypes

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

libc = ctypes.CDLL("libc.so.6")
libc.strlen.argtypes = [ctypes.c_void_p]


def decode(buffer, index):
    """Length of the header of a frame, as the C library sees it."""
    address = buffer.ctypes.data if index != 70 else 0
    return libc.strlen(address)


class Frames(Dataset):
    def __len__(self):
        return 128

    def __getitem__(self, i):
        buffer = np.zeros(64, dtype=np.uint8)
        buffer[: i % 60] = 65
        return torch.tensor(decode(buffer, i), dtype=torch.float32)


def main():
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.Adagrad(model.parameters())
    for epoch in range(1, 3):
        for i, x in enumerate(DataLoader(Frames(), batch_size=16, num_workers=2)):
            loss = (model(x[:, None] / 60) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"Epoch {epoch} | iter {i} | loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
