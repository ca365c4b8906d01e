# /// case
# cause = "too_many_files"
# paper_class = "traceback"
# exit_code = 1
# ///
"""All pictures are opened at the start and kept open, more than the limit of the process allows."""

import resource
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

soft = 128
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, soft))


class CachedImages(Dataset):
    """Opens lazily decoded images once; decodes when an item is asked for."""

    def __init__(self, paths):
        self.images = [Image.open(p) for p in tqdm(paths, desc="Scanning images", ncols=80)]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return torch.from_numpy(np.asarray(self.images[i]).astype("float32"))


root = Path("scans")
root.mkdir()
for i in range(300):
    Image.new("L", (20, 20), i % 255).save(root / f"scan_{i:05d}.tif")
train = CachedImages(sorted(root.glob("*.tif"))[:80])
val = CachedImages(sorted(root.glob("*.tif"))[80:])
print(len(train), len(val), len(DataLoader(train, 8)))
