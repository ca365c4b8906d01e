# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "a hook of pytorch-lightning 1 that version 2 refuses: API changed between versions"
# ///
"""The module still has validation_epoch_end, which version 2 has removed."""

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MNISTLike(pl.LightningModule):
    def __init__(self, hidden_size=64, learning_rate=2e-4):
        super().__init__()
        self.learning_rate = learning_rate
        self.model = nn.Sequential(
            nn.Linear(49, hidden_size), nn.ReLU(), nn.Linear(hidden_size, 10)
        )

    def training_step(self, batch, batch_idx):
        x, y = batch
        return nn.functional.cross_entropy(self.model(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        return {"val_loss": nn.functional.cross_entropy(self.model(x), y)}

    def validation_epoch_end(self, outputs):
        avg_loss = torch.stack([out["val_loss"] for out in outputs]).mean()
        self.log("val_loss", avg_loss)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.learning_rate)


pl.seed_everything(1)
data = TensorDataset(torch.randn(100, 49), torch.randint(0, 10, (100,)))
trainer = pl.Trainer(max_epochs=3, accelerator="cpu")
trainer.fit(MNISTLike(), DataLoader(data, 10), DataLoader(data, 10))
