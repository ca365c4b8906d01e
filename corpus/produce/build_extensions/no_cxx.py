# /// case
# cause = "compile_error"
# paper_class = "traceback"
# exit_code = 1
# env = {CXX = "/opt/rh/gcc-toolset-13/root/usr/bin/g++"}
# ///
"""torch.compile finds no working C++ compiler under the name that the environment gives."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters())


@torch.compile
def loss_of(x):
    return (model(x) - x.mean(1, keepdim=True)).square().mean()


print("compiling the model... (takes a ~minute)", flush=True)
for step in range(10):
    loss = loss_of(torch.randn(8, 16))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"iter {step}: loss {loss.item():.4f}")
