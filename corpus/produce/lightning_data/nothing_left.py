# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "an empty set"
# ///
"""The filter on quality leaves no example."""

import json

import lightning as L
import torch
from lightning.pytorch.demos.boring_classes import BoringModel
from loguru import logger
from torch.utils.data import DataLoader, TensorDataset


class Filtered(L.LightningDataModule):
    def __init__(self, path, minimum=0.8):
        super().__init__()
        self.path, self.minimum = path, minimum

    def setup(self, stage):
        rows = [json.loads(line) for line in open(self.path)]
        kept = [row["x"] for row in rows if row["quality"] >= self.minimum]
        logger.info(
            "{}: {} of {} rows have quality >= {}", self.path, len(kept), len(rows), self.minimum
        )
        if len(kept) < len(rows) / 10:
            logger.warning("more than nine tenths were dropped")
        self.data = TensorDataset(torch.tensor(kept).reshape(-1, 32))

    def train_dataloader(self):
        return DataLoader(self.data, batch_size=16, shuffle=True)


with open("rows.jsonl", "w") as out:
    for i in range(50):
        print(json.dumps({"x": [float(i)] * 32, "quality": i % 75}), file=out)
logger.info("start")
trainer = L.Trainer(max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False)
trainer.fit(BoringModel(), datamodule=Filtered("rows.jsonl", minimum=80))
