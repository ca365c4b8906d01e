# /// case
# cause = "collective"
# paper_class = "nccl"
# exit_code = 1
# timeout_s = 240
# why = "a rank that is late at a barrier: a formed group stalled, no earlier error"
# ///
"""Rank 1 scores its rows for so long that the barrier at the end of the epoch times out."""

import time
from datetime import timedelta

import lightning as L
import torch
from lightning.pytorch.strategies import DDPStrategy
from torch import nn
from torch.utils.data import DataLoader


class Ranker(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(12, 1)

    def training_step(self, x, batch_idx):
        loss = self.net(x).pow(2).mean()
        if self.global_rank == 0 and batch_idx % 4 == 0:
            print(f"step {self.global_step}: loss={loss.item():.5f}", flush=True)
        return loss

    def on_train_epoch_end(self):
        if self.global_rank == 1:
            rows = [self.net(torch.randn(4, 12)).mean() for _ in range(200)]
            time.sleep(25)
            print(f"[rank 1] scored {len(rows)} rows", flush=True)
        torch.distributed.monitored_barrier(timeout=timedelta(seconds=10))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


if __name__ == "__main__":
    L.seed_everything(2)
    trainer = L.Trainer(
        max_epochs=3,
        accelerator="cpu",
        devices=2,
        strategy=DDPStrategy(process_group_backend="gloo"),
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    trainer.fit(Ranker(), DataLoader(torch.randn(96, 12), 4))
