# /// case
# cause = "segfault"
# exit_code = -11
# command = "python -X faulthandler {program}"
# ///
"""Memory is read after it was unmapped; faulthandler prints the stack of every thread."""

import ctypes
import mmap
import threading
import time

import torch


class TokenCache:
    """Tokens in a memory map that is read through a raw address."""

    def __init__(self, n):
        self.map = mmap.mmap(-1, n * 4)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.n = n

    def read(self, i):
        return ctypes.c_int32.from_address(self.address + 4 * i).value


def heartbeat():
    while True:
        time.sleep(0.2)


def train(cache):
    model = torch.nn.Embedding(10, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(50):
        ids = torch.tensor([cache.read(i) for i in range(step, step + 8)])
        loss = model(ids).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("step", step, "loss", round(loss.item(), 4), flush=True)
        if step == 12:
            cache.address = 0x7F0000000000


threading.Thread(target=heartbeat, daemon=True).start()
train(TokenCache(4096))
