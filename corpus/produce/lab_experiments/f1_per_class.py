# /// case
# cause = "traceback"
# exit_code = 1
# why = "the module logs a vector where Lightning wants one number: a mistake of the program, not of its computation"
# ///
"""The F1 of every class is logged as one value, which Lightning does not take."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.classification import MulticlassAccuracy, MulticlassF1Score

torch.set_num_threads(1)


class Cells(L.LightningModule):
    def __init__(self, classes=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, classes))
        self.accuracy = MulticlassAccuracy(classes)
        self.f1 = MulticlassF1Score(classes, average=None)

    def training_step(self, batch, _):
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("train/loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        logits = self.net(batch[0])
        self.accuracy.update(logits, batch[1])
        self.f1.update(logits, batch[1])

    def on_validation_epoch_end(self):
        self.log("val/accuracy", self.accuracy.compute())
        self.log("val/f1", self.f1.compute())
        self.accuracy.reset()
        self.f1.reset()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 1e-3)


L.seed_everything(11)
data = TensorDataset(torch.randn(128, 6), torch.randint(0, 4, (128,)))
trainer = L.Trainer(
    max_epochs=3,
    accelerator="cpu",
    logger=False,
    num_sanity_val_steps=0,
    enable_checkpointing=False,
)
trainer.fit(Cells(), DataLoader(data, 16, shuffle=True), DataLoader(data, 32))
