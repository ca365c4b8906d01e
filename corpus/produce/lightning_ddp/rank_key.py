# /// case
# cause = "traceback"
# exit_code = 1
# timeout_s = 240
# why = "rank 1 raises a KeyError; what rank 0 says about the connection follows from it"
# ///
"""Rank 1 meets a language without an entry in its table; rank 0 loses its peer."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

WEIGHTS = {"de": 1.0, "en": 0.5, "fr": 1.0}


class Sentences(Dataset):
    languages = ["en", "de"] * 20 + ["en", "cs"] * 20

    def __len__(self):
        return len(self.languages)

    def __getitem__(self, i):
        return torch.full((8,), i / 80), self.languages[i]


class Tagger(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 1)

    def training_step(self, batch, batch_idx):
        x, languages = batch
        weight = torch.tensor([WEIGHTS[name] for name in languages])
        loss = (weight * self.net(x).squeeze(-1) ** 2).mean()
        if batch_idx % 2 == 0:
            print(f"[rank {self.global_rank}] batch {batch_idx} loss {loss.item():.4f}", flush=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


if __name__ == "__main__":
    L.seed_everything(0)
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    trainer.fit(Tagger(), DataLoader(Sentences(), 4, shuffle=False))
