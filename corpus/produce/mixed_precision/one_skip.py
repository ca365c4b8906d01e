# /// case
# cause = "none"
# exit_code = 0
# why = "two steps are skipped for inf gradients and the scale is lowered; the run ends well"
# ///
"""Two steps are skipped because of an overflow, the scale is lowered, and the run ends well."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scale, good, skipped = 65536.0, 0, 0
for iteration in range(1, 121):
    x = torch.randn(64, 20) * (1e20 if iteration in (17, 58) else 1)
    loss = (model(x) - x[:, :3].sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    (loss * scale).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), scale)
    if not torch.isfinite(norm):
        scale, skipped = scale / 2, skipped + 1
        print(
            f"Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {scale} (loss {loss.item()})"
        )
        continue
    for p in model.parameters():
        p.grad /= scale
    optimizer.step()
    if iteration % 10 == 0:
        print(
            f" iteration {iteration:8d}/     120 | lm loss: {loss.item():.6E} | loss scale: {scale:.1f} | "
            f"grad norm: {norm / scale:.3f} | number of skipped iterations: {skipped:3d} | number of nan iterations:   0 |"
        )
print("training complete")
