# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# command = "python {program} --gpus 1 --max_epochs 4"
# why = "the gpus argument was removed in version 2: API changed between versions"
# ///
"""The Trainer is built with gpus=1, as in version 1."""

import argparse

import pytorch_lightning as pl
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--gpus", type=int, default=0)
parser.add_argument("--max_epochs", type=int, default=10)
args = parser.parse_args()
print(f"pytorch-lightning {pl.__version__} torch {torch.__version__} gpus={args.gpus}")


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(32, 2)

    def training_step(self, batch, _):
        return self.layer(batch).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


trainer = pl.Trainer(gpus=args.gpus, max_epochs=args.max_epochs, progress_bar_refresh_rate=20)
trainer.fit(Net(), torch.utils.data.DataLoader(torch.randn(64, 32), 8))
