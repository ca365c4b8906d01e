# /// case
# cause = "shape_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""The head of the encoder expects another width; seen in the sanity check."""

import lightning as L
import torch
from lightning.pytorch.loggers import TensorBoardLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitEncoder(L.LightningModule):
    def __init__(self, d_model=48, classes=6):
        super().__init__()
        self.embed = nn.Linear(20, d_model)
        layer = nn.TransformerEncoderLayer(d_model, 4, 64, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(d_model * 2, classes)

    def forward(self, x):
        hidden = self.encoder(self.embed(x))
        return self.head(hidden.mean(1))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", nn.functional.cross_entropy(self(x), y))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-4)


L.seed_everything(0)
data = TensorDataset(torch.randn(64, 12, 20), torch.randint(0, 6, (64,)))
trainer = L.Trainer(
    max_epochs=2, accelerator="cpu", logger=TensorBoardLogger("tb"), num_sanity_val_steps=2
)
trainer.fit(LitEncoder(), DataLoader(data, 16), DataLoader(data, 16))
