# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "gradient clipping by the Trainer and manual optimization exclude each other: a combination of settings"
# ///
"""Gradient clipping is asked of the Trainer with manual optimization."""

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader


class Vae(pl.LightningModule):
    def __init__(self, beta=0.5):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.encoder, self.decoder = nn.Linear(20, 8), nn.Linear(4, 20)

    def training_step(self, x, _):
        optimizer = self.optimizers()
        mean, log_var = self.encoder(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (log_var / 2).exp()
        kl = (mean**2 + log_var.exp() - log_var - 1).sum(-1).mean() / 2
        loss = nn.functional.mse_loss(self.decoder(z), x) + self.hparams.beta * kl
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()
        self.log("elbo", -loss, prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


trainer = pl.Trainer(
    max_epochs=2, accelerator="cpu", gradient_clip_val=0.5, gradient_clip_algorithm="norm"
)
trainer.fit(Vae(), DataLoader(torch.randn(128, 20), 16))
