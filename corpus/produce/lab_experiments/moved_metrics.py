# /// case
# cause = "dependency"
# paper_class = "missing_module"
# exit_code = 1
# environment = "hf4"
# why = "a part of the installed Lightning that a later version removed; the package itself is there"
# ///
"""An experiment of years ago imports the metrics from Lightning, where they were removed."""

import importlib
import sys

import pytorch_lightning as pl
import torch

EXPERIMENT = """
import torch
from pytorch_lightning import LightningModule
from pytorch_lightning.metrics.functional import accuracy


class Digits(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 10)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_acc", accuracy(self.layer(x).argmax(-1), y))
"""
with open("digits_2020.py", "w") as out:
    out.write(EXPERIMENT)
sys.path.insert(0, ".")

print("=" * 60)
print(f"pytorch_lightning {pl.__version__}   torch {torch.__version__}")
print("experiment: digits_2020   accelerator: cpu   seed: 7")
print("=" * 60, flush=True)
pl.seed_everything(7)
module = importlib.import_module("digits_2020").Digits()
trainer = pl.Trainer(max_epochs=1, accelerator="cpu")
trainer.validate(module)
