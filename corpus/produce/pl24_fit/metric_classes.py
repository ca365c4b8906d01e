# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "torchmetrics refuses predictions whose class dimension has another size"
# ///
"""The accuracy metric was made for five classes and the head has six outputs."""

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.classification import MulticlassAccuracy


class Intent(pl.LightningModule):
    def __init__(self, classes=5):
        super().__init__()
        self.net = nn.Sequential(nn.EmbeddingBag(200, 24), nn.Linear(24, classes + 1))
        self.train_acc = MulticlassAccuracy(num_classes=classes, average="micro")
        self.val_acc = MulticlassAccuracy(num_classes=classes)

    def training_step(self, batch, batch_idx):
        tokens, label = batch
        logits = self.net(tokens)
        loss = nn.functional.cross_entropy(logits, label, label_smoothing=0.1)
        self.train_acc(logits, label)
        self.log_dict({"train_loss": loss, "train_acc": self.train_acc}, prog_bar=True)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), 1e-3)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=100)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "step"},
        }


pl.seed_everything(3)
data = TensorDataset(torch.randint(0, 200, (150, 9)), torch.randint(0, 5, (150,)))
trainer = pl.Trainer(max_epochs=5, accelerator="cpu", logger=False, enable_checkpointing=False)
trainer.fit(Intent(), DataLoader(data, 15, shuffle=True))
