# /// case
# cause = "div_zero"
# exit_code = 1
# ///
"""The rate over masked tokens divides by their number, and a batch has none."""

import random

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader


def collate(items):
    ids = torch.stack(items)
    mask = (ids % 7 == 0) & (torch.rand(ids.shape) < 0.25)
    return ids, mask


class MaskedModel(L.LightningModule):
    def __init__(self, vocab=64):
        super().__init__()
        self.embed = nn.Embedding(vocab, 32)
        self.head = nn.Linear(32, vocab)

    def training_step(self, batch, batch_idx):
        ids, mask = batch
        logits = self.head(self.embed(ids.masked_fill(mask, 1)))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids.flatten())
        hits = ((logits.argmax(-1) == ids) & mask).sum().item()
        rate = hits / mask.sum().item()
        self.log("mask_acc", rate, prog_bar=True)
        self.log("loss", loss, prog_bar=True)
        if batch_idx % 10 == 0:
            print(
                f"[step {self.global_step}] loss={loss.item():.4f} mask_acc={rate:.3f}", flush=True
            )
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=5e-3, weight_decay=0.01)


L.seed_everything(21)
random.seed(21)
corpus = torch.randint(0, 64, (900, 14))
trainer = L.Trainer(max_epochs=4, accelerator="cpu", logger=False, enable_checkpointing=False)
trainer.fit(MaskedModel(), DataLoader(corpus, batch_size=9, collate_fn=collate, shuffle=True))
