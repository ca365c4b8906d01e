# /// case
# cause = "killed_unknown"
# paper_class = ""
# exit_code = -9
# stop = {signal = "KILL", when = "40/"}
# ///
"""The resumed run is ended by SIGKILL and nobody says why."""

import time

import lightning as L
import torch
from lightning.pytorch.callbacks import TQDMProgressBar
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Pinball(L.LightningModule):
    def __init__(self, quantile=0.9):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(5, 20), nn.ELU(), nn.Linear(20, 1))

    def training_step(self, batch, _):
        error = batch[1] - self.net(batch[0])
        q = self.hparams.quantile
        loss = torch.maximum(q * error, (q - 1) * error).mean()
        self.log("pinball", loss, prog_bar=True)
        time.sleep(0.01)
        return loss

    def configure_optimizers(self):
        return torch.optim.NAdam(self.parameters())


L.seed_everything(20)
data = TensorDataset(torch.randn(1200, 5), torch.randn(1200, 1))
options = {"accelerator": "cpu", "logger": False, "callbacks": [TQDMProgressBar(20)]}
warm = L.Trainer(max_steps=20, enable_model_summary=False, **options)
warm.fit(Pinball(), DataLoader(data, 8))
warm.save_checkpoint("warm.ckpt")
trainer = L.Trainer(max_epochs=200, **options)
trainer.fit(Pinball(), DataLoader(data, 8), ckpt_path="warm.ckpt")
