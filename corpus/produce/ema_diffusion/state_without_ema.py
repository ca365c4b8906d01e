# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# why = "the checkpoint was written by an older version of the program and lacks what the resume reads from it"
# ///
"""The checkpoint to resume was written before the program kept a moving average."""

import torch
from rich.console import Console
from rich.table import Table
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

console = Console(width=110)


def denoiser():
    return nn.Sequential(nn.Linear(33, 64), nn.GELU(), nn.Linear(64, 32))


def earlier_run(path):
    model = denoiser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.save(
        {"step": 400, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path
    )


def train(path, until):
    model = denoiser()
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    console.log(f"[bold]resuming from[/] {path}")
    state = torch.load(path, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    average.load_state_dict(state["ema"])
    scaler.load_state_dict(state["scaler"])
    for step in range(state["step"], until):
        x = torch.randn(16, 32)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = (model(torch.cat([x, torch.rand(16, 1)], 1)) - x).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        average.update_parameters(model)
    console.log(f"finished at step {until}")


table = Table(title="denoising run")
for column in ("setting", "value"):
    table.add_column(column)
table.add_row("amp", "bfloat16")
table.add_row("ema", "0.999")
table.add_row("on_error", "raise")
console.print(table)
earlier_run("last.pt")
train("last.pt", 800)
