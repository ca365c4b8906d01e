# /// case
# cause = "device_mismatch"
# exit_code = 1
# why = "tensors of two devices in one computation, found by a dry run without data"
# ///
"""A dry run with fake tensors finds that the weights of one layer were left on the CPU."""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode


def make_weights(width, layers, device):
    weights = [torch.empty(width, width, device=device) for _ in range(layers)]
    weights.append(torch.empty(width, width))
    return weights


def forward(x, weights):
    for weight in weights:
        x = torch.relu(torch.matmul(x, weight))
    return x.square().mean()


def dry_run(width, layers, batch, device):
    with FakeTensorMode():
        weights = make_weights(width, layers, device)
        size = sum(w.numel() for w in weights) * 4 / 2**20
        print(f"layers {len(weights)} width {width}: weights {size:.0f} MiB", flush=True)
        forward(torch.empty(batch, width, device=device), weights)
        print("ok")


print("dry run: estimating memory with fake tensors on cuda:0", flush=True)
dry_run(1024, 4, 32, "cuda:0")
