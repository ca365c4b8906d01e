# /// case
# cause = "killed_unknown"
# paper_class = "runtime_error"
# exit_code = 1
# stop = {signal = "USR2", when = "step 40"}
# why = "a loader worker was ended by SIGKILL and nothing says by whom; Lightning re-raises the loader's RuntimeError"
# ///
"""A loader worker is killed from outside in mid-epoch."""

import os
import signal
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Frames(Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, i):
        if os.path.exists("stop"):
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.002)
        return torch.full((32,), i / 4000)


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(32, 32)

    def training_step(self, batch, batch_idx):
        loss = nn.functional.mse_loss(self.net(batch), batch)
        if batch_idx % 20 == 0:
            print(f"step {self.global_step} mse {loss.item():.5f}", flush=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR2, lambda *_: open("stop", "w").close())
    trainer = L.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_progress_bar=False)
    trainer.fit(Model(), DataLoader(Frames(), 8, num_workers=2))
