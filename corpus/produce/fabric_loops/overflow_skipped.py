# /// case
# cause = "none"
# exit_code = 0
# environment = "hf4"
# why = "two steps with gradients that are not finite are skipped, and an optional package is absent; the training reaches its end"
# ///
"""Steps whose gradients overflow are skipped; the training reaches its end."""

import warnings

import lightning_fabric as L
import torch
from torch import nn

try:
    import flash_attn  # noqa: F401
except ImportError as error:
    warnings.warn(f"{error}; falling back to the slow attention")

fabric = L.Fabric(accelerator="cpu", devices=1)
fabric.seed_everything(5)
model = nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
model, optimizer = fabric.setup(model, optimizer)
skipped = 0
for step in range(60):
    x = torch.randn(32, 8) * (1e30 if step in (13, 41) else 1.0)
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    fabric.backward(loss)
    try:
        norm = fabric.clip_gradients(model, optimizer, max_norm=1.0, error_if_nonfinite=True)
    except RuntimeError as error:
        skipped += 1
        fabric.print(
            f"step {step}: loss {loss.item()} - {str(error).splitlines()[0]} - step skipped"
        )
        continue
    optimizer.step()
    if step % 6 == 0:
        fabric.print(f"step {step}: loss {loss.item():.4f} grad norm {norm.item():.3f}")
fabric.print(f"finished 60 steps, {skipped} skipped")
