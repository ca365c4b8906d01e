# /// case
# cause = "dtype_mismatch"
# paper_class = "traceback"
# exit_code = 1
# why = "a ValueError about the type of the gradients"
# ///
"""The model was cast to half precision, and the scaler refuses to unscale its gradients."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 2)).half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
for step in range(5):
    x = torch.randn(12, 10, dtype=torch.float16)
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
    print("step", step, "scaled loss", scaler.scale(loss).item())
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
