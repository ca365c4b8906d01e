# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The last checkpoint was cut off when the job before was stopped."""

import logging
from pathlib import Path

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(levelname)s - %(message)s")
log = logging.getLogger("pretrain")


def build():
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3)


def save(folder, step, model, optimizer):
    state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, folder / f"step_{step:06d}.pt")


def earlier_job(folder):
    folder.mkdir(parents=True)
    model, optimizer = build()
    for step in (1000, 2000):
        save(folder, step, model, optimizer)
    last = folder / "step_002000.pt"
    last.write_bytes(last.read_bytes()[:-500])


def main():
    folder = Path("checkpoints")
    earlier_job(folder)
    model, optimizer = build()
    newest = max(folder.glob("step_*.pt"))
    log.info("resuming from %s (%.1f KB)", newest, newest.stat().st_size / 1024)
    state = torch.load(newest, map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    log.info("resumed at step %d", state["step"])


main()
