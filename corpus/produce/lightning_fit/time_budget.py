# /// case
# cause = "none"
# paper_class = ""
# exit_code = 0
# why = "max_time ends the fit as asked, the work is saved"
# ///
"""The fit is stopped by its own time budget, and that is a success."""

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1))

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x).squeeze(-1), y)
        self.log("train_loss", loss, prog_bar=True, on_epoch=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        residual = self.net(x).squeeze(-1) - y
        self.log("val_loss", residual.pow(2).mean())
        self.log("val_r2_rare", 1 - residual[y > 40].var() / y[y > 40].var(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


L.seed_everything(9)
x = torch.randn(600, 20)
data = TensorDataset(x, x[:, 0] * 2 + x[:, 1])
trainer = L.Trainer(
    max_epochs=-1,
    max_time="00:00:00:04",
    accelerator="cpu",
    callbacks=[ModelCheckpoint("weights", monitor="val_loss", save_last=True)],
)
trainer.fit(Net(), DataLoader(data, 50, shuffle=True), DataLoader(data, 100))
print(f"fit ended: {trainer.state.status}; val_loss {trainer.callback_metrics['val_loss']:.5f}")
