# /// case
# cause = "cancelled"
# exit_code = -15
# environment = "hf4"
# stop = {signal = "TERM", when = "iter 30 "}
# ///
"""A loop that is ended by a signal from outside; its handler is the default one."""

import time

import lightning_fabric as L
import torch
from torch import nn

fabric = L.Fabric(accelerator="cpu", devices=1)
fabric.launch()
fabric.seed_everything(77)
model = nn.Sequential(
    nn.Conv1d(1, 8, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 3)
)
optimizer = torch.optim.NAdam(model.parameters())
model, optimizer = fabric.setup(model, optimizer)
for i in range(100000):
    started = time.perf_counter()
    loss = nn.functional.cross_entropy(model(torch.randn(12, 1, 60)), torch.arange(12) % 3)
    optimizer.zero_grad()
    fabric.backward(loss)
    optimizer.step()
    time.sleep(0.05)
    if i % 10 == 0:
        fabric.print(
            f"iter {i} loss {loss.item():.4f} iter time {(time.perf_counter() - started) * 1000:.1f}ms",
            flush=True,
        )
