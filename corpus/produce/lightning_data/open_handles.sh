# /// case
# cause = "too_many_files"
# paper_class = "traceback"
# exit_code = 1
# ///
# Every shard of the data set is held open, more than the limit on descriptors allows.
ulimit -n 96
mkdir shards
for i in $(seq -w 0 119); do head -c 512 /dev/zero > shards/part-$i.bin; done
cat > fit.py << 'PROGRAM'
from pathlib import Path

import lightning as L
import torch
from lightning.pytorch.demos.boring_classes import BoringModel
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm


class Shards(Dataset):
    def __init__(self, folder):
        paths = sorted(Path(folder).glob("*.bin"))
        self.handles = [path.open("rb") for path in tqdm(paths, desc="opening shards")]

    def __len__(self):
        return len(self.handles) * 4

    def __getitem__(self, i):
        handle = self.handles[i // 4]
        handle.seek(128 * (i % 4))
        return torch.frombuffer(bytearray(handle.read(128)), dtype=torch.float32)


L.seed_everything(0)
trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False)
trainer.fit(BoringModel(), DataLoader(Shards("shards"), batch_size=8))
PROGRAM
python fit.py
