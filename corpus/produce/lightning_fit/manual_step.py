# /// case
# cause = "runtime_error"
# exit_code = 1
# why = "the program backpropagates by itself in automatic optimization: autograd misuse, not a setting"
# ///
"""A GAN step calls backward itself though the optimization is automatic, and the graph is gone."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader


class TinyGan(L.LightningModule):
    def __init__(self, latent=8):
        super().__init__()
        self.save_hyperparameters()
        self.generator = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, 16))
        self.critic = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def training_step(self, real, batch_idx):
        noise = torch.randn(len(real), self.hparams.latent)
        fake = self.generator(noise)
        g_loss = nn.functional.softplus(-self.critic(fake)).mean()
        g_loss.backward()
        d_loss = nn.functional.softplus(self.critic(fake)).mean()
        d_loss = d_loss + nn.functional.softplus(-self.critic(real)).mean()
        self.log_dict({"g_loss": g_loss.detach(), "d_loss": d_loss.detach()}, prog_bar=True)
        return d_loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-4, betas=(0.5, 0.999))


L.seed_everything(1)
loader = DataLoader(torch.randn(320, 16), batch_size=32)
trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False)
trainer.fit(TinyGan(), loader)
