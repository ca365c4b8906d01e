# /// case
# cause = "dtype_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""The class indices arrive as floats, since they were read together with the features."""

import logging

import lightning as L
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(name)s: %(message)s")
logger = logging.getLogger("train")


class CsvRows(Dataset):
    def __init__(self, path):
        self.rows = torch.from_numpy(np.loadtxt(path, delimiter=",", dtype=np.float32))
        logger.info("%s: %d rows, %d columns", path, *self.rows.shape)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i, :-1], self.rows[i, -1]


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 3))

    def training_step(self, batch, _):
        features, target = batch
        loss = nn.functional.nll_loss(self.net(features).log_softmax(-1), target)
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


rng = np.random.default_rng(3)
table = np.c_[rng.normal(size=(120, 8)), rng.integers(0, 3, 120)]
np.savetxt("train.csv", table, delimiter=",", fmt="%.4f")
trainer = L.Trainer(max_epochs=3, logger=False, enable_checkpointing=False, accelerator="cpu")
logger.info("starting")
trainer.fit(Model(), DataLoader(CsvRows("train.csv"), batch_size=24))
logger.info("done")
