# /// case
# cause = "pickling"
# paper_class = "traceback"
# exit_code = 1
# why = "the sampler's answer is a named tuple whose name in the module is another one, so it cannot be sent back"
# ///
"""Sampling processes answer with a named tuple that pickle cannot find under its name."""

import logging
from collections import namedtuple
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(processName)s %(asctime)s %(message)s")
SubgraphBatch = namedtuple("Subgraph", "nodes edges target")
N = 400


def neighbours(seed, fanout=5):
    rng = np.random.default_rng(seed)
    return np.unique(rng.integers(0, N, fanout))


def sample(seed):
    nodes = [seed]
    edges = []
    for neighbour in neighbours(seed):
        edges.append((0, len(nodes)))
        nodes.append(int(neighbour))
    edges = np.array(edges).T
    return SubgraphBatch(np.array(nodes), edges, seed % 3)


class Mean(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(N, 16)
        self.out = nn.Linear(32, 3)

    def forward(self, batch):
        h = self.table(torch.as_tensor(batch.nodes))
        return self.out(torch.cat([h[0], h[1:].mean(0)]))


def epoch(model, optimizer, batches):
    total = 0.0
    for batch in batches:
        loss = nn.functional.cross_entropy(model(batch), torch.tensor(batch.target))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


def main():
    torch.manual_seed(0)
    model = Mean()
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    seeds = list(range(60))
    logging.info(
        "epoch 0 (sampled in this process): %.3f", epoch(model, optimizer, map(sample, seeds))
    )
    logging.info("starting 2 sampling processes")
    with ProcessPoolExecutor(2) as pool:
        for i in range(1, 4):
            batches = pool.map(sample, seeds, chunksize=10)
            logging.info("epoch %d: %.3f", i, epoch(model, optimizer, batches))


if __name__ == "__main__":
    main()
