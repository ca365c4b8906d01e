# /// case
# cause = "pickling"
# paper_class = "traceback"
# exit_code = 1
# ///
"""ddp_spawn must pickle the module, and its loss is a local function."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader


def focal(gamma):
    def loss(logits, target):
        p = torch.sigmoid(logits)
        return -(target * (1 - p) ** gamma * p.log()).mean()

    return loss


class Detector(L.LightningModule):
    def __init__(self, gamma=2.0):
        super().__init__()
        self.criterion = focal(gamma)
        self.net = nn.Linear(10, 1)

    def training_step(self, x, _):
        return self.criterion(self.net(x), torch.ones(len(x), 1))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


if __name__ == "__main__":
    trainer = L.Trainer(
        max_epochs=1, accelerator="cpu", devices=2, strategy="ddp_spawn", logger=False
    )
    trainer.fit(Detector(), DataLoader(torch.randn(64, 10), 8))
