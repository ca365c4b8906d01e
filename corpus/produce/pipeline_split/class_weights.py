# /// case
# cause = "device_mismatch"
# exit_code = 1
# command = "bash -c 'set -o pipefail; python {program} 2>&1 | tee train.out'"
# ///
"""The weights of the classes stay where they were computed, the logits are elsewhere; a callback rethrows."""

import lightning as L
import torch
from torch import nn


class Classifier(L.LightningModule):
    def __init__(self, counts):
        super().__init__()
        self.net = nn.Linear(6, len(counts))
        self.weight = (torch.tensor(counts).sum() / torch.tensor(counts)).to("meta")

    def training_step(self, batch, index):
        x, y = batch
        weight = self.weight if self.current_epoch else None
        return nn.functional.cross_entropy(self.net(x), y, weight=weight)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


L.seed_everything(1)
data = torch.utils.data.TensorDataset(torch.randn(64, 6), torch.randint(3, (64,)))
trainer = L.Trainer(
    max_epochs=3,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_model_summary=False,
)
trainer.fit(Classifier([40.0, 20.0, 4.0]), torch.utils.data.DataLoader(data, 16))
