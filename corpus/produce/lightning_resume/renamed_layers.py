# /// case
# cause = "checkpoint"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""The module was restructured after the checkpoint was written: keys and sizes differ."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Base(L.LightningModule):
    def training_step(self, batch, _):
        return nn.functional.cross_entropy(self(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class NetV1(Base):
    def __init__(self, width=32):
        super().__init__()
        self.save_hyperparameters()
        self.l1, self.l2 = nn.Linear(8, width), nn.Linear(width, 3)

    def forward(self, x):
        return self.l2(self.l1(x).relu())


class NetV2(Base):
    def __init__(self, width=32):
        super().__init__()
        self.save_hyperparameters()
        self.backbone = nn.Sequential(nn.Linear(8, width * 2), nn.ReLU())
        self.l2 = nn.Linear(width * 2, 3)

    def forward(self, x):
        return self.l2(self.backbone(x))


L.seed_everything(4)
loader = DataLoader(TensorDataset(torch.randn(64, 8), torch.randint(0, 3, (64,))), 16)
trainer = L.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_progress_bar=False)
trainer.fit(NetV1(), loader)
trainer.save_checkpoint("v1.ckpt")
model = NetV2.load_from_checkpoint("v1.ckpt")
trainer.test(model, loader)
