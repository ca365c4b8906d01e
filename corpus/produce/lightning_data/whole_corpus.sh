# /// case
# cause = "host_oom"
# paper_class = "ram_oom"
# exit_code = 1
# why = "numpy's MemoryError under a limit on the address space"
# ///
# The data module loads the whole corpus at once under a limit of memory.
ulimit -v 6000000
cat > fit.py << 'PROGRAM'
import lightning as L
import numpy as np
from lightning.pytorch.demos.boring_classes import BoringModel
from torch.utils.data import DataLoader


class Corpus(L.LightningDataModule):
    def __init__(self, rows, width):
        super().__init__()
        self.shape = (rows, width)

    def setup(self, stage):
        print(f"[data] {stage}: loading {self.shape[0]} rows of {self.shape[1]} into memory")
        packed = np.memmap("corpus.bin", mode="w+", dtype=np.uint8, shape=self.shape)
        self.features = packed.astype(np.float32)
        self.features /= 255.0
        print("[data] loaded")

    def train_dataloader(self):
        return DataLoader(self.features, batch_size=64, pin_memory=False)


trainer = L.Trainer(max_epochs=1, accelerator="cpu", logger=False)
trainer.fit(BoringModel(), datamodule=Corpus(40_000_000, 32))
PROGRAM
python fit.py
