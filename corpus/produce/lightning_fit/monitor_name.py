# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# why = "the callback is told to watch a metric that the module never logs: a setting"
# ///
"""The checkpoint callback watches val_acc, the module logs val/acc."""

import lightning as L
import torch
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitClassifier(L.LightningModule):
    def __init__(self, hidden=32, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(16, hidden), nn.ReLU(), nn.Linear(hidden, 4))

    def step(self, batch, stage):
        x, y = batch
        logits = self.net(x)
        loss = nn.functional.cross_entropy(logits, y)
        self.log(f"{stage}/loss", loss, prog_bar=True)
        self.log(f"{stage}/acc", (logits.argmax(-1) == y).float().mean(), prog_bar=True)
        return loss

    def training_step(self, batch, _):
        return self.step(batch, "train")

    def validation_step(self, batch, _):
        self.step(batch, "val")

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


if __name__ == "__main__":
    L.seed_everything(42)
    x = torch.randn(512, 16)
    y = x[:, :4].argmax(-1)
    train = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=32, shuffle=True)
    val = DataLoader(TensorDataset(x[400:], y[400:]), batch_size=32)
    trainer = L.Trainer(
        max_epochs=5,
        accelerator="cpu",
        logger=CSVLogger("logs"),
        callbacks=[
            ModelCheckpoint(monitor="val_acc", mode="max", save_top_k=2),
            LearningRateMonitor("epoch"),
        ],
        log_every_n_steps=5,
    )
    trainer.fit(LitClassifier(), train, val)
