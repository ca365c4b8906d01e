# /// case
# cause = "none"
# paper_class = ""
# exit_code = 0
# environment = "hf4"
# why = "warnings, a nan in the sanity check, early stopping: the fit ends as it should"
# ///
"""A healthy run with a nan metric in the sanity check, warnings and early stopping."""

import warnings

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import EarlyStopping
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Linear(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 1)
        self.seen = []

    def training_step(self, batch, _):
        loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.seen.append(loss.item())
        return loss

    def validation_step(self, batch, _):
        mean = sum(self.seen) / len(self.seen) if self.seen else float("nan")
        if self.trainer.sanity_checking:
            warnings.warn(f"running mean of the loss is {mean}: RuntimeError ignored", stacklevel=1)
        val_loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
        print(f"val_loss={val_loss:.5f} running_mean={mean:.5f}", flush=True)
        self.log("val_loss", val_loss)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.2)


pl.seed_everything(0)
x = torch.randn(256, 3)
data = TensorDataset(x, x.sum(1, keepdim=True))
trainer = pl.Trainer(
    max_epochs=30,
    accelerator="cpu",
    logger=False,
    enable_progress_bar=False,
    callbacks=[
        EarlyStopping("val_loss", patience=2, min_delta=1e-5, check_finite=True, verbose=True)
    ],
)
trainer.fit(Linear(), DataLoader(data, 32), DataLoader(data, 256))
print("stopped epoch:", trainer.early_stopping_callback.stopped_epoch)
