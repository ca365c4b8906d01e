# /// case
# cause = "none"
# exit_code = 0
# ///
"""A callback of Lightning cannot copy the checkpoint to the bucket; fit ends as usual."""

import sys

import numpy as np
from loguru import logger

logger.remove()
logger.add(
    sys.stderr,
    format="{time:HH:mm:ss.SSS} | {level: <7} | {message}",
    backtrace=False,
    diagnose=False,
)
rng = np.random.default_rng(11)


def sales(stores=8, days=120):
    season = 5 + 2 * np.sin(np.arange(days) / 7 * 2 * np.pi)
    return season + rng.normal(size=(stores, days)) * 0.3


def windows(series, lag=14):
    x = np.lib.stride_tricks.sliding_window_view(series, lag + 1, axis=1).reshape(-1, lag + 1)
    return x[:, :lag], x[:, lag]


class Ridge:
    def __init__(self, lag=14):
        self.w = np.zeros(lag)

    def fit(self, x, y, epochs=5, each=None):
        for epoch in range(1, epochs + 1):
            for _ in range(40):
                self.w -= 2e-4 * (x.T @ (x @ self.w - y) / len(y) * 10 + 0.01 * self.w)
            logger.info(f"epoch {epoch}/{epochs} mae={np.abs(x @ self.w - y).mean():.4f}")
            if each:
                each(epoch)
        return self


import lightning as L
import torch
from lightning.fabric.plugins.environments import LightningEnvironment


class CopyToBucket(L.Callback):
    def on_train_epoch_end(self, trainer, module):
        trainer.save_checkpoint("last.ckpt")
        try:
            with open("last.ckpt", "rb") as source, open("/mnt/bucket/last.ckpt", "wb") as target:
                target.write(source.read())
        except OSError:
            logger.exception(f"epoch {trainer.current_epoch}: no copy in the bucket")


class Forecaster(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(14, 1)

    def training_step(self, batch, index):
        x, y = batch
        return torch.nn.functional.l1_loss(self.net(x).squeeze(1), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-2)


x, y = (torch.tensor(part.copy(), dtype=torch.float32) for part in windows(sales()))
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=64)
trainer = L.Trainer(
    max_epochs=2,
    accelerator="cpu",
    logger=False,
    enable_progress_bar=False,
    enable_checkpointing=False,
    callbacks=[CopyToBucket()],
    plugins=[LightningEnvironment()],
)
trainer.fit(Forecaster(), loader)
