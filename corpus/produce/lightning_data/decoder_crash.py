# /// case
# cause = "segfault"
# paper_class = "segfault"
# exit_code = 1
# why = "a loader worker died of SIGSEGV, said by the loader's RuntimeError"
# ///
"""A native decoder reads through a bad pointer in a loader worker."""

import ctypes

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    """Frames from a C buffer: (address, size) per clip."""

    def __init__(self, count):
        self.buffer = ctypes.create_string_buffer(bytes(range(256)) * 4)
        self.index = [(ctypes.addressof(self.buffer), 1024)] * count
        self.index[count * 3 // 4] = (0x10, 1024)

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        address, size = self.index[i]
        raw = ctypes.string_at(address, size)
        return torch.frombuffer(bytearray(raw), dtype=torch.uint8).float().view(32, 32) / 255


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(32, 32)

    def training_step(self, batch, batch_idx):
        loss = nn.functional.mse_loss(self.net(batch), batch)
        self.log("rec", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    L.seed_everything(17)
    trainer = L.Trainer(max_epochs=3, accelerator="cpu", logger=False)
    trainer.fit(Model(), DataLoader(Clips(200), batch_size=4, num_workers=2))
