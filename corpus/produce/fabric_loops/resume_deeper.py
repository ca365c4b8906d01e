# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "the checkpoint to resume was saved without the scheduler that the program now wants from it"
# ///
"""The program resumes a state that the earlier version of it did not save."""

import lightning_fabric as L
import torch
from torch import nn


def build(fabric):
    model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    model, optimizer = fabric.setup(model, optimizer)
    return {"model": model, "optimizer": optimizer, "step": 0}


fabric = L.Fabric(accelerator="cpu", devices=1)
fabric.seed_everything(21)
state = build(fabric)
for state["step"] in range(1, 31):
    loss = state["model"](torch.randn(16, 5)).square().mean()
    state["optimizer"].zero_grad()
    fabric.backward(loss)
    state["optimizer"].step()
fabric.save("run/step-30.ckpt", state)
fabric.print(f"saved run/step-30.ckpt, loss {loss.item():.4f}")

state = build(fabric)
state["scheduler"] = torch.optim.lr_scheduler.StepLR(state["optimizer"].optimizer, 10)
fabric.print("resuming from run/step-30.ckpt")
fabric.load("run/step-30.ckpt", state)
fabric.print("resumed at", state["step"])
