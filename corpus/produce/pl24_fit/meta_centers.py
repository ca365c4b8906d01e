# /// case
# cause = "device_mismatch"
# exit_code = 1
# environment = "hf4"
# why = "a tensor on another device (meta) takes part in the computation"
# ///
"""The class centers were created on the meta device and never filled."""

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class CenterLoss(nn.Module):
    def __init__(self, classes, dim):
        super().__init__()
        with torch.device("meta"):
            self.centers = torch.zeros(classes, dim)

    def forward(self, features, labels):
        return ((features - self.centers[labels]) ** 2).sum(-1).mean()


class Embedder(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))
        self.center_loss = CenterLoss(4, 8)

    def training_step(self, batch, _):
        loss = self.center_loss(self.net(batch[0]), batch[1])
        self.log("center_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


pl.seed_everything(4)
data = TensorDataset(torch.randn(64, 12), torch.randint(0, 4, (64,)))
trainer = pl.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False)
trainer.fit(Embedder(), DataLoader(data, 8))
