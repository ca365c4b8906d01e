# /// case
# cause = "runtime_error"
# exit_code = 1
# ///
"""The loss is computed from detached numbers and has no graph behind it."""

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

student, teacher = nn.Linear(10, 4), nn.Linear(10, 4)
optimizer = torch.optim.Adam(student.parameters())
writer = SummaryWriter("runs/distill")


def kl(p, q, warm):
    if warm:
        p = p.detach()
    return nn.functional.kl_div(p.log_softmax(-1), q.softmax(-1), reduction="batchmean")


for step in range(20):
    x = torch.randn(32, 10)
    with torch.autocast("cpu"):
        loss = kl(student(x), teacher(x).detach(), warm=step == 12)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    writer.add_scalar("loss", loss.item(), step)
    print("distill", step, f"{loss.item():.5f}")
