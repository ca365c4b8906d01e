# /// case
# cause = "device_mismatch"
# exit_code = 1
# ///
"""Messages between items are summed on one device while the edge features stayed on another."""

import argparse

import torch
from torch import nn


class ItemGraph(nn.Module):
    def __init__(self, items, width):
        super().__init__()
        self.table = nn.Embedding(items, width)

    def forward(self, src, dst, strength):
        node = self.table.weight
        message = strength[:, None].expand(-1, node.shape[1])
        return torch.zeros_like(node).index_add(0, dst, message)


parser = argparse.ArgumentParser()
parser.add_argument("--items", type=int, default=400)
parser.add_argument("--cold-start-epoch", type=int, default=3)
args = parser.parse_args()
print(vars(args))

torch.manual_seed(1)
graph = ItemGraph(args.items, 16)
optimizer = torch.optim.Adagrad(graph.parameters(), lr=0.05)
src, dst = torch.randint(args.items, (2, 300))
strength = torch.rand(300)
for epoch in range(6):
    if epoch == args.cold_start_epoch:
        print("cold start: edges are rebuilt from the catalogue")
        with torch.device("meta"):
            strength = torch.rand(300)
    loss = (graph(src, dst, strength) - graph.table.weight).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch}  reconstruction {loss.item():.5f}", flush=True)
