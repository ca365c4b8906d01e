# /// case
# cause = "runtime_error"
# exit_code = 1
# timeout_s = 240
# why = "unused parameters under DDP"
# ///
"""The auxiliary head takes no part in the loss, which DDP does not allow."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader


class TwoHeads(L.LightningModule):
    def __init__(self, auxiliary=False):
        super().__init__()
        self.auxiliary = auxiliary
        self.body = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
        self.head, self.aux_head = nn.Linear(32, 4), nn.Linear(32, 4)

    def training_step(self, x, _):
        h = self.body(x)
        loss = self.head(h).pow(2).mean()
        if self.auxiliary:
            loss = loss + 0.3 * self.aux_head(h).pow(2).mean()
        self.log("train_loss", loss, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


if __name__ == "__main__":
    L.seed_everything(1)
    trainer = L.Trainer(
        max_epochs=2,
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        logger=False,
        enable_progress_bar=False,
    )
    trainer.fit(TwoHeads(), DataLoader(torch.randn(128, 16), 8))
