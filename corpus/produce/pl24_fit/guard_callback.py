# /// case
# cause = "nan_loss"
# paper_class = "nan_loss"
# exit_code = 1
# environment = "hf4"
# why = "the program's own guard ends the run because the loss is nan"
# ///
"""A callback of the program stops the run when the loss is no longer finite."""

import math
import sys

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class FiniteGuard(pl.Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        value = outputs["loss"].item()
        if trainer.global_step % 10 == 0:
            print(
                f"step {trainer.global_step:5d} | loss {value:.6f} | lr {module.lr:.1e}", flush=True
            )
        if not math.isfinite(value):
            print(f"Loss is {value}, stopping training", file=sys.stderr)
            sys.exit(1)


class Poisson(pl.LightningModule):
    def __init__(self, lr=0.08):
        super().__init__()
        self.lr = lr
        self.rate = nn.Linear(4, 1)

    def training_step(self, batch, _):
        x, counts = batch
        return (self.rate(x).exp() - counts * self.rate(x)).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr)


pl.seed_everything(2)
x = torch.randn(500, 4)
x[430] *= 60
data = TensorDataset(x, torch.poisson(x[:, :1].clamp(-2, 2).exp()))
trainer = pl.Trainer(
    max_epochs=10,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    callbacks=[FiniteGuard()],
)
trainer.fit(Poisson(), DataLoader(data, 10))
