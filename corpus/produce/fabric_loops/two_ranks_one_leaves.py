# /// case
# cause = "collective"
# exit_code = 1
# environment = "hf4"
# why = "one rank has fewer batches, leaves the loop and ends well; the other loses its peer in the gradients' reduction"
# timeout_s = 200
# ///
"""The ranks have different numbers of batches: one finishes while the other still reduces."""

import datetime
import os

import lightning_fabric as L
import torch
from lightning_fabric.strategies import DDPStrategy
from torch import nn

torch.set_num_threads(1)


def main():
    strategy = DDPStrategy(process_group_backend="gloo", timeout=datetime.timedelta(seconds=60))
    fabric = L.Fabric(accelerator="cpu", devices=2, strategy=strategy)
    fabric.launch()
    fabric.seed_everything(1 + fabric.global_rank)
    model, optimizer = nn.Linear(12, 2), None
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = fabric.setup(model, optimizer)
    mine = torch.randn(37 if fabric.global_rank else 53, 4, 12)
    for step, batch in enumerate(mine):
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
        if step % 5 == 0:
            print(
                f"[{fabric.global_rank}] batch {step}/{len(mine)} loss {loss.item():.4f}",
                flush=True,
            )
    print(f"[{fabric.global_rank}] epoch done", flush=True)
    if fabric.global_rank:
        os._exit(0)


if __name__ == "__main__":
    main()
