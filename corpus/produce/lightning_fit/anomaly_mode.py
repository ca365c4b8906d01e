# /// case
# cause = "nan_loss"
# paper_class = "nan_loss"
# exit_code = 1
# why = "anomaly mode of the Trainer names the function that returned nan"
# ///
"""The standard deviation of an all-zero row sends nan through the backward pass."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Normalizing(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.scale = nn.Linear(6, 6, bias=False)
        self.out = nn.Linear(6, 2)

    def forward(self, x):
        h = torch.relu(self.scale(x))
        h = (h - h.mean(-1, keepdim=True)) / (h.var(-1, keepdim=True).sqrt() + 1e-6)
        return self.out(h)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x), y)
        self.log("train/loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 5)]


if __name__ == "__main__":
    L.seed_everything(5)
    x = torch.rand(256, 6)
    x[200] = 0.0
    data = DataLoader(TensorDataset(x, torch.randint(0, 2, (256,))), batch_size=8)
    trainer = L.Trainer(max_epochs=2, detect_anomaly=True, accelerator="cpu", log_every_n_steps=1)
    trainer.fit(Normalizing(), data)
