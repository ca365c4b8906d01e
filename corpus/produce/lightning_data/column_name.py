# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "the table has not the column that the program reads: wrong columns"
# ///
"""The table of the second split calls its target otherwise; a loader worker finds out."""

import lightning as L
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Houses(Dataset):
    def __init__(self, path, target="sale_price"):
        self.frame = pd.read_csv(path)
        self.target = target
        print(f"{path}: {len(self.frame)} rows, columns {list(self.frame.columns)}")

    def __len__(self):
        return len(self.frame)

    def __getitem__(self, i):
        row = self.frame.iloc[i]
        features = torch.tensor(row[["rooms", "area"]].to_numpy(dtype=np.float32))
        return features, torch.tensor([row[self.target]], dtype=torch.float32)


class Prices(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))

    def training_step(self, batch, _):
        loss = nn.functional.l1_loss(self.net(batch[0]), batch[1])
        self.log("train_mae", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        self.log("val_mae", nn.functional.l1_loss(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    columns = {"rooms": rng.integers(1, 8, 200), "area": rng.normal(90, 20, 200)}
    pd.DataFrame({**columns, "sale_price": rng.normal(3, 1, 200)}).to_csv("train.csv", index=False)
    pd.DataFrame({**columns, "SalePrice": rng.normal(3, 1, 200)}).to_csv("val.csv", index=False)
    trainer = L.Trainer(max_epochs=4, accelerator="cpu", num_sanity_val_steps=0, logger=False)
    trainer.fit(
        Prices(),
        DataLoader(Houses("train.csv"), 20),
        DataLoader(Houses("val.csv"), 20, num_workers=2),
    )
