# /// case
# cause = "none"
# paper_class = ""
# exit_code = 0
# timeout_s = 240
# why = "both ranks end well; what they warn about is harmless"
# ///
"""A healthy run on two ranks, with warnings at the start."""

import atexit
import os

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader


class Small(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1))

    def training_step(self, x, batch_idx):
        loss = nn.functional.mse_loss(self.net(x), x[:, :1])
        self.log("train_loss", loss, sync_dist=True)
        if batch_idx == 7:
            print(
                f"[rank {self.global_rank}] epoch {self.current_epoch} loss {loss.item():.4f}",
                flush=True,
            )
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


if __name__ == "__main__":
    os.environ.setdefault("TORCH_DISTRIBUTED_DEBUG", "OFF")
    L.seed_everything(3)
    trainer = L.Trainer(
        max_epochs=3,
        accelerator="cpu",
        devices=2,
        strategy="ddp_find_unused_parameters_true",
        logger=False,
        enable_progress_bar=False,
    )
    trainer.fit(Small(), DataLoader(torch.randn(128, 6), 8))
    atexit.register(print, f"[rank {trainer.global_rank}] process group destroyed, 0 errors")
