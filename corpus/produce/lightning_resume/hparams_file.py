# /// case
# cause = "file_not_found"
# exit_code = 1
# why = "a file of settings that the job names is absent; the checkpoint itself is there"
# ///
"""The table of class weights that the saved hyperparameters name has been moved away."""

import os
import warnings

import lightning as L
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore", ".*does not have many workers.*")


class Weighted(L.LightningModule):
    def __init__(self, weights_file):
        super().__init__()
        self.save_hyperparameters()
        weights = np.loadtxt(weights_file, dtype=np.float32)
        self.criterion = nn.CrossEntropyLoss(torch.from_numpy(weights))
        self.net = nn.Linear(6, len(weights))

    def training_step(self, batch, _):
        loss = self.criterion(self.net(batch[0]), batch[1])
        self.log("weighted_ce", loss, on_step=False, on_epoch=True)
        return loss

    def on_train_epoch_end(self):
        print(
            f"epoch {self.current_epoch} weighted_ce {self.trainer.callback_metrics['weighted_ce']:.4f}"
        )

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


os.makedirs("assets")
np.savetxt("assets/class_weights.txt", [1.0, 2.0, 0.5])
loader = DataLoader(TensorDataset(torch.randn(60, 6), torch.randint(0, 3, (60,))), 10)
trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_progress_bar=False)
trainer.fit(Weighted("assets/class_weights.txt"), loader)
trainer.save_checkpoint("weighted.ckpt")
os.rename("assets", "assets_2024")
restored = Weighted.load_from_checkpoint("weighted.ckpt")
print(restored)
