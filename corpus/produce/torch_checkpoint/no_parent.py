# /// case
# cause = "file_not_found"
# exit_code = 1
# why = "the folder to save to is not there; torch says it with a RuntimeError"
# ///
"""The folder for the checkpoint is not there when the first epoch is over."""

import time

import torch
from rich.progress import track

net = torch.nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
run = "sweep-7/trial-003"
for epoch in range(2):
    for _ in track(range(40), description=f"epoch {epoch}"):
        loss = net(torch.randn(5, 3)).abs().sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.005)
    print("epoch", epoch, "loss", loss.item())
    torch.save({"net": net.state_dict(), "epoch": epoch}, f"runs/{run}/epoch{epoch}.pth")
