# /// case
# cause = "device_mismatch"
# exit_code = 1
# why = "torch calls the device of a sparse tensor its backend"
# ///
"""A sparse adjacency gets indices and values of two devices."""

import warnings

import torch

warnings.filterwarnings("ignore", message="Sparse invariant")


def adjacency(edges, n, weight_device):
    weights = torch.rand(edges.shape[1], device=weight_device)
    return torch.sparse_coo_tensor(edges, weights, (n, n))


def propagate(x, adj, hops):
    for _ in range(hops):
        x = torch.sparse.mm(adj, x).relu()
    return x


for name, n, device in (("cora_small", 60, "cpu"), ("cora", 270, "cpu"), ("arxiv", 900, "meta")):
    edges = torch.randint(n, (2, 5 * n))
    x = propagate(torch.randn(n, 8), adjacency(edges, n, device), 2)
    print(f"{name}: {n} nodes, activation {x.mean().item():.4f}", flush=True)
