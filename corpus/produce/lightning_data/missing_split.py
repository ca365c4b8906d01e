# /// case
# cause = "file_not_found"
# exit_code = 1
# command = "python {program} --data-root /data/ml/cells --fold 3"
# ///
"""The list of the fold is not below the data folder."""

import argparse
import logging
from pathlib import Path

import lightning as L
import torch
from lightning.pytorch.demos.boring_classes import BoringModel
from torch.utils.data import DataLoader

logging.basicConfig(format="%(levelname)s:%(name)s:%(message)s", level=logging.INFO)
log = logging.getLogger("cells")


class Cells(L.LightningDataModule):
    def __init__(self, root, fold):
        super().__init__()
        self.root, self.fold = Path(root), fold

    def prepare_data(self):
        log.info("data root %s", self.root)
        if not self.root.exists():
            log.warning("%s is not mounted on the login node, going on", self.root)

    def setup(self, stage):
        with open(self.root / f"fold{self.fold}" / "train.txt") as lines:
            self.files = [line.strip() for line in lines]
        log.info("%d files", len(self.files))

    def train_dataloader(self):
        return DataLoader(torch.randn(len(self.files), 32), batch_size=4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-root", required=True)
    parser.add_argument("--fold", type=int, default=0)
    args = parser.parse_args()
    trainer = L.Trainer(max_epochs=1, accelerator="cpu", logger=False)
    trainer.fit(BoringModel(), datamodule=Cells(args.data_root, args.fold))
