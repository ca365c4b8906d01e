# /// case
# cause = "dependency"
# paper_class = "runtime_error"
# exit_code = 1
# why = "the set-up of the optimizer imports an optional package, whose bindings need a library of MPI that is not installed"
# ///
"""The set-up looks for optional engines, and the bindings of one of them find no MPI library."""

import lightning as L
import torch

fabric = L.Fabric(accelerator="cpu", devices=1)
fabric.launch()
fabric.seed_everything(2)
rows = torch.randn(64, 6)
fabric.print(f"rows {tuple(rows.shape)}, mean {rows.mean().item():.4f}")
model = torch.nn.Linear(6, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
model, optimizer = fabric.setup(model, optimizer)
for step in range(100):
    loss = model(rows).square().mean()
    fabric.backward(loss)
    optimizer.step()
fabric.print("loss", loss.item())
