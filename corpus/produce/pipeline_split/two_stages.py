# /// case
# cause = "device_mismatch"
# exit_code = 1
# why = "the run is planned with fake tensors, and the devices of its two stages do not fit"
# ///
"""A dry run with fake tensors of a two-stage model: the second stage gets activations of the first card."""

import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode


class Stage(nn.Module):
    def __init__(self, width, depth, device):
        super().__init__()
        self.weights = nn.ParameterList(
            torch.empty(width, width, device=device) for _ in range(depth)
        )

    def forward(self, x):
        for weight in self.weights:
            x = F.gelu(F.linear(x, weight))
        return x


class Pipeline(nn.Module):
    def __init__(self, width, devices):
        super().__init__()
        self.stages = nn.ModuleList(Stage(width, 4, device) for device in devices)

    def forward(self, x):
        for number, stage in enumerate(self.stages):
            print(f"stage {number} on {stage.weights[0].device}, input on {x.device}", flush=True)
            x = stage(x)
        return x


with FakeTensorMode(), torch.no_grad():
    model = Pipeline(1024, ["cuda:0", "cuda:1"])
    total = sum(p.numel() * p.element_size() for p in model.parameters())
    print(f"planned weights: {total / 2**20:.1f} MiB on 2 devices")
    out = model(torch.empty(8, 1024, device="cuda:0"))
    print("output", out.shape, out.device)
