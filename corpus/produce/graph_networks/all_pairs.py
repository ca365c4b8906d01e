# /// case
# cause = "host_oom"
# exit_code = 1
# ///
"""Shortest paths between all pairs of nodes are a dense matrix that the job's memory cannot hold."""

import resource
import sys

import numpy as np
import torch
from loguru import logger
from scipy import sparse
from scipy.sparse import csgraph
from torch import nn

logger.remove()
logger.add(
    sys.stderr, format="{time:HH:mm:ss} | {level: <8} | {message}", backtrace=False, diagnose=False
)


def social_graph(n, degree=4, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n), degree)
    columns = rng.integers(0, n, n * degree)
    return sparse.csr_matrix((np.ones(n * degree), (rows, columns)), shape=(n, n))


def structural_bias(graph, cap=8):
    hops = csgraph.shortest_path(graph, directed=False, unweighted=True)
    hops[~np.isfinite(hops)] = cap
    return torch.from_numpy(hops).clamp(max=cap).long()


class Graphormer(nn.Module):
    def __init__(self, dim=16, cap=8):
        super().__init__()
        self.bias = nn.Embedding(cap + 1, 1)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, 2)

    def forward(self, x, hops):
        q, k, v = self.qkv(x).chunk(3, -1)
        return self.out((q @ k.T / 4 + self.bias(hops)[..., 0]).softmax(-1) @ v)


def main():
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Graphormer()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for name, n in (("karate", 34), ("campus", 600), ("town", 45000)):
        graph = social_graph(n)
        logger.info("{}: {} nodes, {} edges, density {:.2e}", name, n, graph.nnz, graph.nnz / n**2)
        hops = structural_bias(graph)
        x, y = torch.randn(n, 16), torch.randint(0, 2, (n,))
        for step in range(1, 16):
            loss = nn.functional.cross_entropy(model(x, hops), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 5 == 0:
                logger.info("{} step {} loss {:.4f}", name, step, loss.item())


try:
    main()
except Exception:
    logger.exception("training aborted")
    sys.exit(1)
