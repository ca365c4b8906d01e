# /// case
# cause = "dtype_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""The training runs under autocast, the evaluation does not and meets bfloat16 weights."""

import torch
from loguru import logger
from torch import nn

model = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16)).bfloat16()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
logger.info("precision bf16-mixed on cpu")
for step in range(30):
    x = torch.randn(8, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        logger.info("step {} loss {:.4f}", step, loss.item())
with logger.catch(reraise=True):
    with torch.inference_mode():
        held_out = torch.randn(64, 16)
        logger.info(
            "validation loss {:.4f}", nn.functional.mse_loss(model(held_out), held_out).item()
        )
