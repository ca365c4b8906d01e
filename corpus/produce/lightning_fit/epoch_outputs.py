# /// case
# cause = "traceback"
# exit_code = 1
# ///
"""The end of the validation epoch reads a list under a name that was renamed elsewhere."""

import lightning as L
import torch
from lightning.pytorch.callbacks import RichModelSummary, TQDMProgressBar
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Tagger(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.LSTM(12, 24, batch_first=True)
        self.head = nn.Linear(24, 5)
        self.val_outputs = []

    def forward(self, x):
        return self.head(self.net(x)[0])

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x).flatten(0, 1), y.flatten())
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.val_outputs.append((self(x).argmax(-1) == y).float())

    def on_validation_epoch_end(self):
        accuracy = torch.cat(self.validation_outputs).mean()
        self.log("val_acc", accuracy, prog_bar=True)
        self.val_outputs.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


L.seed_everything(3)
data = TensorDataset(torch.randn(96, 10, 12), torch.randint(0, 5, (96, 10)))
trainer = L.Trainer(
    max_epochs=3,
    accelerator="cpu",
    num_sanity_val_steps=0,
    callbacks=[RichModelSummary(max_depth=2), TQDMProgressBar(refresh_rate=4)],
)
trainer.fit(Tagger(), DataLoader(data, 8), DataLoader(data, 8))
