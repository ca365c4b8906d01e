# /// case
# cause = "nan_loss"
# paper_class = "nan_loss"
# exit_code = 1
# ///
"""The script's own assertion stops a diverging run under Accelerate."""

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

set_seed(5)
accelerator = Accelerator(cpu=True)
w = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(w.parameters(), lr=30.0, momentum=0.9)
w, optimizer = accelerator.prepare(w, optimizer)
running = 0.0
for step in range(400):
    x = torch.randn(32, 8)
    loss = (w(x) - x.flip(1)).square().mean()
    accelerator.backward(loss)
    norm = accelerator.clip_grad_norm_(w.parameters(), 1e30)
    optimizer.step()
    optimizer.zero_grad()
    running += loss.item()
    if step % 5 == 0:
        accelerator.print(f"{step:5d} | loss {loss.item():.3e} | gnorm {norm.item():.3e}")
    assert torch.isfinite(loss), f"loss is {loss.item()} at step {step}"
