# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python {program}"
# needs = ["root"]
# why = "the shared embeddings may only be read and are mapped for writing"
# ///
"""Node embeddings shared by the group are mapped for writing and belong to somebody who only lets others read."""

import os
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader

N, DIM = 300, 16


def publish(folder):
    """What the nightly job of the group leaves behind."""
    os.makedirs(folder)
    array = np.lib.format.open_memmap(
        f"{folder}/positions.npy", mode="w+", dtype="float32", shape=(N, DIM)
    )
    array[:] = np.random.default_rng(0).normal(size=(N, DIM))
    array.flush()
    os.chmod(f"{folder}/positions.npy", 0o444)


def walks(n, length=6):
    rng = random.Random(0)
    for _ in range(n):
        walk = [rng.randrange(N)]
        while len(walk) < length:
            walk.append((walk[-1] + rng.choice([-3, -1, 1, 3])) % N)
        yield torch.tensor(walk)


def main():
    publish("shared/graphs/v12")
    print("node2vec: 300 nodes, window 2, negatives 5")
    table = nn.Embedding(N, DIM)
    start = np.load("shared/graphs/v12/positions.npy", mmap_mode="r")
    table.weight.data.copy_(torch.from_numpy(start.copy()))
    optimizer = torch.optim.Adagrad(table.parameters(), 0.05)
    for epoch in range(3):
        total = 0.0
        for batch in DataLoader(list(walks(640)), batch_size=32, shuffle=True):
            h = table(batch)
            near = (h[:, 1:] * h[:, :-1]).sum(-1)
            far = (h[:, :1] * table(torch.randint(0, N, (len(batch), 5)))).sum(-1)
            loss = -nn.functional.logsigmoid(near).mean() - nn.functional.logsigmoid(-far).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / 20:.4f}", flush=True)
    print("writing the embeddings back")
    shared = np.load("shared/graphs/v12/positions.npy", mmap_mode="r+")
    shared[:] = table.weight.detach().numpy()
    shared.flush()


main()
