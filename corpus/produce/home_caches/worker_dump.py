# /// case
# cause = "segfault"
# exit_code = 1
# why = "the loader names the signal; the dump of faulthandler stands above it"
# ///
"""The decoder of a loader worker crashes natively on one record; faulthandler dumps the worker's stack."""

import ctypes
import faulthandler

import torch
from torch.utils.data import DataLoader, Dataset

faulthandler.enable()
libc = ctypes.CDLL(None)
libc.strlen.argtypes = [ctypes.c_void_p]


class Records(Dataset):
    def __init__(self, n):
        self.payload = [ctypes.create_string_buffer(b"x" * (i % 30)) for i in range(n)]

    def __len__(self):
        return len(self.payload)

    def __getitem__(self, index):
        address = ctypes.addressof(self.payload[index]) if index != 77 else 8
        return torch.tensor(float(libc.strlen(address)))


loss = 3.0
for n, lengths in enumerate(DataLoader(Records(160), batch_size=16, num_workers=2)):
    loss = 0.8 * loss + 0.01 * lengths.mean().item()
    print(f"batch {n:02d} mean length {lengths.mean():5.2f} loss {loss:.4f}", flush=True)
