# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "a label outside the classes, seen on the CPU"
# ///
"""Ignored pixels carry the label 255, which the loss does not leave out."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Scenes(Dataset):
    def __len__(self):
        return 80

    def __getitem__(self, i):
        generator = torch.Generator().manual_seed(i)
        image = torch.rand(3, 24, 24, generator=generator)
        mask = torch.randint(0, 19, (24, 24), generator=generator)
        if i > 50:
            mask[:2] = 255
        return image, mask


class Segmenter(L.LightningModule):
    def __init__(self, classes=19):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, classes, 1)
        )

    def training_step(self, batch, batch_idx):
        image, mask = batch
        loss = nn.functional.cross_entropy(self.net(image), mask)
        self.log("loss", loss, prog_bar=True)
        print(f"batch {batch_idx}: loss {loss.item():.4f}")
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


L.seed_everything(8)
trainer = L.Trainer(
    max_epochs=1,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
)
trainer.fit(Segmenter(), DataLoader(Scenes(), batch_size=8))
