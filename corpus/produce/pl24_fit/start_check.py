# /// case
# cause = "assertion"
# exit_code = 1
# environment = "hf4"
# ///
"""The module asserts before the training that its tied weights are one, and a copy untied them."""

import copy

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader


class TiedLm(pl.LightningModule):
    def __init__(self, vocab=50, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.embed.weight

    def on_train_start(self):
        assert self.head.weight is self.embed.weight, "embedding and head are no longer tied"

    def training_step(self, ids, _):
        logits = self.head(self.embed(ids[:, :-1]))
        return nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


model = TiedLm()
model.embed = copy.deepcopy(model.embed)
trainer = pl.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_progress_bar=False)
trainer.fit(model, DataLoader(torch.randint(0, 50, (80, 12)), 8))
