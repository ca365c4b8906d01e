# /// case
# cause = "runtime_error"
# exit_code = 1
# environment = "hf4"
# why = "autograd misuse: the loss has no graph"
# ///
"""The encoder is unfrozen too late: all parameters are frozen and the loss has no gradient."""

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import BaseFinetuning
from torch import nn
from torch.utils.data import DataLoader


class UnfreezeAt(BaseFinetuning):
    def __init__(self, epoch):
        super().__init__()
        self.epoch = epoch

    def freeze_before_training(self, pl_module):
        self.freeze(pl_module.encoder)
        print("encoder frozen until epoch", self.epoch)

    def finetune_function(self, pl_module, epoch, optimizer):
        if epoch == self.epoch:
            self.unfreeze_and_add_param_group(pl_module.encoder, optimizer, lr=1e-4)


class Contrast(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 10), nn.Tanh())
        self.temperature = nn.Parameter(torch.tensor(0.1))

    def training_step(self, x, _):
        z = nn.functional.normalize(self.encoder(x), dim=-1)
        similarity = z @ z.T / self.temperature.item()
        return nn.functional.cross_entropy(similarity, torch.arange(len(x)))

    def configure_optimizers(self):
        return torch.optim.Adam([self.temperature], lr=1e-3)


trainer = pl.Trainer(max_epochs=4, accelerator="cpu", logger=False, callbacks=[UnfreezeAt(2)])
trainer.fit(Contrast(), DataLoader(torch.randn(64, 10), 16))
