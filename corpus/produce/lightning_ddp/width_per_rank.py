# /// case
# cause = "shape_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# timeout_s = 240
# why = "DDP verifies the parameters of the ranks and finds other sizes"
# ///
"""Each rank counts its own vocabulary, so that the embeddings of the ranks differ in size."""

import os

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader

SHARDS = {0: "the cat sat on the mat", 1: "a dog ran home to eat and sleep"}


class Bag(L.LightningModule):
    def __init__(self, words):
        super().__init__()
        self.embed = nn.EmbeddingBag(len(words), 8)

    def training_step(self, ids, _):
        return self.embed(ids).pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


if __name__ == "__main__":
    rank = int(os.environ.get("LOCAL_RANK", 0))
    words = sorted(set(SHARDS[rank].split()))
    print(f"rank {rank}: vocabulary of {len(words)} words", flush=True)
    ids = torch.randint(0, len(words), (32, 4))
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        logger=False,
        enable_progress_bar=False,
    )
    trainer.fit(Bag(words), DataLoader(ids, 4))
