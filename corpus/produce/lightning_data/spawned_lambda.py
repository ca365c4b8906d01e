# /// case
# cause = "pickling"
# paper_class = "traceback"
# exit_code = 1
# why = "the chain ends in Lightning's own RuntimeError about an iterator; the lambda that cannot be pickled comes first"
# ///
"""The loader starts its workers by spawn and the data set holds a lambda."""

import lightning as L
import torch
from lightning.pytorch.demos.boring_classes import BoringModel
from torch.utils.data import DataLoader, Dataset


class Augmented(Dataset):
    def __init__(self, base, transform):
        self.base, self.transform = base, transform

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        return self.transform(self.base[i])


def build(noise):
    augment = Augmented(torch.randn(128, 32), lambda x: x + noise * torch.randn_like(x))
    return DataLoader(
        augment,
        batch_size=16,
        num_workers=2,
        multiprocessing_context="spawn",
        persistent_workers=True,
    )


if __name__ == "__main__":
    L.seed_everything(13)
    trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=False)
    trainer.fit(BoringModel(), build(noise=0.05))
