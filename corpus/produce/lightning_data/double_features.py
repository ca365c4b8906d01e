# /// case
# cause = "dtype_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""The test features stay float64 while the training features were cast."""

import lightning as L
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Forecast(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(3, 16, batch_first=True)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        return self.out(self.gru(x)[0][:, -1])

    def training_step(self, batch, _):
        loss = nn.functional.huber_loss(self(batch[0]), batch[1])
        self.log("huber", loss, prog_bar=True)
        return loss

    def test_step(self, batch, _):
        self.log("test_huber", nn.functional.huber_loss(self(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.RMSprop(self.parameters(), lr=1e-3)


rng = np.random.default_rng(2)
windows = rng.normal(size=(200, 10, 3))
target = windows.sum((1, 2))[:, None] / 10
train = TensorDataset(torch.tensor(windows[:160]).float(), torch.tensor(target[:160]).float())
test = TensorDataset(torch.tensor(windows[160:]), torch.tensor(target[160:]))
model = Forecast()
trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False)
trainer.fit(model, DataLoader(train, 20))
print("train huber", trainer.callback_metrics["huber"].item())
trainer.test(model, DataLoader(test, 20))
