# /// case
# cause = "device_mismatch"
# exit_code = 1
# why = "a dry run on the meta device finds the table of degrees on the CPU"
# ///
"""A dry run on the meta device estimates the cost of a network whose degree scaler is computed from numpy."""

import logging

import networkx as nx
import numpy as np
import torch
from torch import nn

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(funcName)s: %(message)s"
)


class DegreeScaled(nn.Module):
    """Principal neighbourhood aggregation with the three usual scalers."""

    def __init__(self, dim, degrees):
        super().__init__()
        self.delta = torch.from_numpy(np.log(degrees + 1).astype(np.float32)[:, None])
        self.pre, self.post = nn.Linear(2 * dim, dim), nn.Linear(4 * dim, dim)

    def forward(self, x, edges):
        source, target = edges
        message = self.pre(torch.cat([x[source], x[target]], -1)).relu()
        total = torch.zeros_like(x).index_add_(0, target, message)
        mean = self.delta.mean()
        scaled = [total, total * (self.delta / mean), total * (mean / self.delta)]
        return self.post(torch.cat([x, *scaled], -1))


def build(graph, dim=16, layers=3):
    degrees = np.array([d for _, d in sorted(graph.degree())])
    return nn.ModuleList(DegreeScaled(dim, degrees) for _ in range(layers))


def forward(layers, x, edges):
    for layer in layers:
        x = x + layer(x, edges)
    return x


torch.manual_seed(0)
graph = nx.barabasi_albert_graph(200, 3, seed=0)
edges = torch.tensor(list(graph.to_directed().edges)).T
logging.info("graph with %d nodes and %d directed edges", len(graph), edges.shape[1])
layers = build(graph)
optimizer = torch.optim.Adam(layers.parameters(), 1e-3)
x, y = torch.randn(200, 16), torch.randn(200, 16)
for step in range(1, 21):
    loss = nn.functional.mse_loss(forward(layers, x, edges), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        logging.info("probe step %d loss %.4f", step, loss.item())
logging.info("estimating the memory of the large model")
with torch.device("meta"):
    large = build(graph, dim=4096, layers=24)
logging.info("%.2f billion parameters", sum(p.numel() for p in large.parameters()) / 1e9)
shape = forward(large, torch.empty(200, 4096, device="meta"), edges.to("meta")).shape
logging.info("output %s", tuple(shape))
