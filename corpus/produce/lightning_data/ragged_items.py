# /// case
# cause = "data"
# paper_class = "runtime_error"
# exit_code = 1
# why = "examples that cannot be batched"
# ///
"""The recordings differ in length and the default collate function cannot stack them."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Recordings(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(4)
        self.lengths = torch.randint(800, 1600, (count,), generator=generator).tolist()

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        return {"wave": torch.randn(1, self.lengths[i]), "label": i % 4}


class SpeechData(L.LightningDataModule):
    def __init__(self, batch_size=8, workers=2):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage):
        print(f"setup: {stage}")
        self.train = Recordings(64)

    def train_dataloader(self):
        return DataLoader(
            self.train, self.hparams.batch_size, num_workers=self.hparams.workers, shuffle=True
        )


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 16, 9, stride=4)
        self.head = nn.Linear(16, 4)

    def training_step(self, batch, _):
        logits = self.head(self.conv(batch["wave"]).mean(-1))
        return nn.functional.cross_entropy(logits, batch["label"])

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


if __name__ == "__main__":
    L.seed_everything(0, workers=True)
    trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=False)
    trainer.fit(Net(), datamodule=SpeechData())
