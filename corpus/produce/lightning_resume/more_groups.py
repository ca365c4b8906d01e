# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# why = "a checkpoint of another optimizer: the state's parameter groups do not fit"
# ///
"""The run is resumed with other parameter groups than those in the checkpoint."""

import lightning as L
import torch
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Finetune(L.LightningModule):
    def __init__(self, split_groups):
        super().__init__()
        self.split_groups = split_groups
        self.body, self.head = nn.Linear(16, 16), nn.Linear(16, 1)

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.mse_loss(self.head(self.body(x).relu()), y)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        if not self.split_groups:
            return torch.optim.AdamW(self.parameters(), lr=1e-3)
        groups = [
            {"params": self.body.parameters(), "lr": 1e-4},
            {"params": self.head.parameters(), "lr": 1e-3},
        ]
        return torch.optim.AdamW(groups)


L.seed_everything(10)
loader = DataLoader(TensorDataset(torch.randn(80, 16), torch.randn(80, 1)), 8)
options = {"accelerator": "cpu", "logger": CSVLogger("csv"), "log_every_n_steps": 5}
stage1 = L.Trainer(max_epochs=2, enable_model_summary=False, **options)
stage1.fit(Finetune(False), loader)
path = stage1.checkpoint_callback.best_model_path
print("stage 2 from", path.split("/")[-1])
L.Trainer(max_epochs=4, **options).fit(Finetune(True), loader, ckpt_path=path)
