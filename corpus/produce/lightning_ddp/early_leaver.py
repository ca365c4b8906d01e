# /// case
# cause = "collective"
# paper_class = "nccl"
# exit_code = 1
# timeout_s = 240
# why = "rank 1 leaves with status 0 when its shards are used up; rank 0 loses its peer in the all-reduce, no earlier error"
# ///
"""Rank 1 has fewer shards and leaves the program, rank 0 waits for its gradients."""

import sys

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

SHARDS = {0: 12, 1: 7}


class Stream(IterableDataset):
    def __iter__(self):
        for shard in range(12):
            yield from torch.randn(8, 6) + shard


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(6, 6)

    def training_step(self, x, batch_idx):
        if batch_idx >= SHARDS[self.global_rank]:
            sys.stdout.flush()
            sys.exit(0)
        loss = nn.functional.mse_loss(self.net(x), x)
        if batch_idx % 3 == 0:
            print(f"rank={self.global_rank} batch={batch_idx} loss={loss.item():.3f}", flush=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    L.seed_everything(8)
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    trainer.fit(Model(), DataLoader(Stream(), 8))
