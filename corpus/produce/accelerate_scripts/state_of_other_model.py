# /// case
# cause = "checkpoint"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""load_state reads a checkpoint of a larger model."""

import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration
from torch import nn

settings = ProjectConfiguration(project_dir="exp", automatic_checkpoint_naming=True, total_limit=2)


def run(width, resume):
    accelerator = Accelerator(cpu=True, project_config=settings)
    model = nn.Sequential(nn.Linear(16, width), nn.GELU(), nn.Linear(width, 4))
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer = accelerator.prepare(model, optimizer)
    if resume:
        accelerator.print(f"Resuming from {resume}")
        accelerator.load_state(resume)
    for step in range(6):
        loss = model(torch.randn(8, 16)).square().mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        accelerator.print(f"step {step} loss {loss.item():.4f}")
    accelerator.save_state()
    accelerator.free_memory()


run(64, None)
run(48, "exp/checkpoints/checkpoint_0")
