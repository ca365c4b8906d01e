# /// case
# cause = "none"
# paper_class = ""
# exit_code = 0
# why = "corrupt records are reported and skipped, the training is done"
# ///
"""Corrupt records are skipped with loud warnings and the training ends well."""

import logging
import traceback

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping
from torch import nn
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("records")
logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")


class Records(Dataset):
    def __init__(self, count):
        self.raw = [",".join(str((i * k) % 11) for k in range(9)) for i in range(count)]
        self.raw[5] = self.raw[70] = "3,1,,nan?,7"

    def __len__(self):
        return len(self.raw)

    def __getitem__(self, i):
        try:
            values = torch.tensor([float(one) for one in self.raw[i].split(",")])
        except ValueError as error:
            log.error("record %d is corrupt: %s", i, error)
            traceback.print_exc()
            return self[i + 1]
        return values[:8], values[8:]


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))

    def training_step(self, batch, _):
        loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def on_train_epoch_end(self):
        print(f"epoch {self.current_epoch}: {self.trainer.callback_metrics}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


L.seed_everything(6)
trainer = L.Trainer(
    max_epochs=6,
    accelerator="cpu",
    logger=False,
    enable_progress_bar=False,
    callbacks=[EarlyStopping("train_loss", min_delta=5.0, patience=2, verbose=True)],
)
trainer.fit(Model(), DataLoader(Records(96), 16))
print("training complete")
