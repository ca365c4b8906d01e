# /// case
# cause = "cancelled"
# paper_class = ""
# exit_code = 0
# stop = {signal = "TERM", when = "30/"}
# why = "SIGTERM with nothing else known; Lightning turns it into SIGTERMException"
# ///
"""Something outside ends the fit with SIGTERM."""

import time

import lightning as L
import torch
from lightning.pytorch.callbacks import Timer, TQDMProgressBar
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Autoencoder(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(28, 12), nn.GELU(), nn.Linear(12, 3))
        self.decoder = nn.Sequential(nn.Linear(3, 12), nn.GELU(), nn.Linear(12, 28))

    def training_step(self, batch, batch_idx):
        (x,) = batch
        loss = nn.functional.mse_loss(self.decoder(self.encoder(x)), x)
        self.log("rec_loss", loss, prog_bar=True)
        time.sleep(0.03)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


L.seed_everything(2)
trainer = L.Trainer(
    max_epochs=100,
    accelerator="cpu",
    logger=False,
    callbacks=[Timer("00:01:00:00"), TQDMProgressBar(refresh_rate=5)],
    enable_model_summary=False,
)
trainer.fit(Autoencoder(), DataLoader(TensorDataset(torch.randn(400, 28)), 16, num_workers=1))
trainer.save_checkpoint("final.ckpt")
print("saved final.ckpt")
