# /// case
# cause = "nan_loss"
# paper_class = "nan_loss"
# exit_code = 0
# why = "early stopping ends the run because the loss is not finite; the program carries on to its end"
# ///
"""The learning rate is far too high: EarlyStopping's finite check ends the fit, exit status 0."""

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Regressor(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("train_loss", loss, on_epoch=True, prog_bar=True)
        if batch_idx == 0:
            print(f"epoch {self.current_epoch} step {self.global_step} loss {loss.item():.4g}")
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr, momentum=0.9)


L.seed_everything(11)
x = torch.randn(640, 10) * 3
dataset = TensorDataset(x, x.sum(1, keepdim=True) + 5)
trainer = L.Trainer(
    max_epochs=20,
    accelerator="cpu",
    logger=False,
    callbacks=[EarlyStopping("train_loss", patience=5, check_finite=True, verbose=True)],
)
trainer.fit(Regressor(lr=0.3), DataLoader(dataset, 64, shuffle=True))
print("finished after", trainer.current_epoch, "epochs; stopped:", trainer.should_stop)
