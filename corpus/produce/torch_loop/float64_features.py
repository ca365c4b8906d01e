# /// case
# cause = "dtype_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""Validation features keep numpy's double precision, so the first evaluation fails."""

import logging

import numpy as np
import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s")
log = logging.getLogger("fit")

rng = np.random.default_rng(7)
train_x = torch.tensor(rng.random((640, 12)), dtype=torch.float32)
train_y = train_x.sum(1, keepdim=True)
val_x = torch.from_numpy(rng.random((128, 12)))
val_y = val_x.sum(1, keepdim=True)

model = nn.Sequential(nn.Linear(12, 24), nn.GELU(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


@torch.no_grad()
def evaluate():
    model.eval()
    return nn.functional.mse_loss(model(val_x), val_y).item()


for step in range(1, 101):
    idx = torch.randint(0, len(train_x), (32,))
    loss = nn.functional.mse_loss(model(train_x[idx]), train_y[idx])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        log.info("step %d loss %.5f", step, loss.item())
    if step % 50 == 0:
        log.info("running evaluation on %d samples", len(val_x))
        log.info("step %d val_loss %.5f", step, evaluate())
