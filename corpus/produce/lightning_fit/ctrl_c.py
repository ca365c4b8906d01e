# /// case
# cause = "cancelled"
# paper_class = ""
# exit_code = 1
# stop = {signal = "INT", when = "step 60"}
# why = "Lightning shuts down gracefully after Ctrl-C"
# ///
"""A person stops the fit with Ctrl-C."""

import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Slow(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(32, 10)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("train_loss", loss, prog_bar=True)
        if self.global_step % 20 == 0:
            print(f"step {self.global_step} loss {loss:.4f}", flush=True)
        time.sleep(0.02)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


L.seed_everything(0)
data = TensorDataset(torch.randn(2000, 32), torch.randint(0, 10, (2000,)))
trainer = L.Trainer(max_epochs=50, accelerator="cpu", default_root_dir="runs")
trainer.fit(Slow(), DataLoader(data, 20, shuffle=True))
print("best checkpoint:", trainer.checkpoint_callback.best_model_path)
