# /// case
# cause = "compile_error"
# paper_class = "traceback"
# exit_code = 1
# why = "eager steps work; compiling with a dynamic number of nodes contradicts a size that the code fixes"
# ///
"""The number of nodes is marked dynamic for torch.compile, and one layer of the network fixes it."""

import logging
import os

import torch
from torch import nn

os.environ.setdefault("TORCH_LOGS", "-dynamo")
logging.basicConfig(level=logging.INFO, format="[%(levelname)s] %(message)s")


class GraphNorm(nn.Module):
    """Normalizes over blocks of the (padded) nodes."""

    blocks, size = 4, 16

    def forward(self, h):
        parts = h.view(self.blocks, self.size, h.shape[-1])
        parts = (parts - parts.mean(1, keepdim=True)) / (parts.std(1, keepdim=True) + 1e-5)
        return parts.view(h.shape)


class Net(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.first, self.second = nn.Linear(dim, dim), nn.Linear(dim, 2)
        self.norm = GraphNorm()

    def forward(self, x, adjacency):
        h = self.norm(torch.relu(self.first(adjacency @ x)))
        return self.second(adjacency @ h)


def graph(n=64):
    adjacency = (torch.rand(n, n) < 0.1).float()
    adjacency = adjacency / adjacency.sum(1, keepdim=True).clamp(min=1)
    x = torch.randn(n, 12)
    return x, adjacency, (x[:, 0] > 0).long()


def train(network, steps, dynamic):
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    for step in range(1, steps + 1):
        x, adjacency, y = graph()
        if dynamic:
            torch._dynamo.mark_dynamic(x, 0)
        loss = nn.functional.cross_entropy(network(x, adjacency), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            logging.info("step %d loss %.4f%s", step, loss.item(), " (compiled)" * dynamic)


torch.manual_seed(0)
network = Net()
train(network, 20, dynamic=False)
logging.info("compiling for graphs of all sizes")
train(torch.compile(network, backend="aot_eager"), 40, dynamic=True)
