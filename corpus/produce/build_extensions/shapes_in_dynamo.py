# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# why = "the compiler only reports what the model computes: shapes that do not fit"
# ///
"""Shapes do not fit inside a compiled model; dynamo reports it while tracing."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(12, 24)
        self.down = nn.Linear(32, 12)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(x)))


torch._dynamo.config.verbose = False
encoder = torch.compile(Encoder(), backend="eager")
print("model compiled, starting training", flush=True)
for epoch in range(2):
    out = encoder(torch.randn(5, 12))
    print("epoch", epoch, out.mean().item())
