# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "the set is empty because no file has the ending that is looked for"
# ///
"""No picture has the ending that is looked for, so there is nothing to sample."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

EXTENSIONS = (".jpg", ".jpeg")


class ImageFolder(Dataset):
    def __init__(self, root):
        self.root = Path(root)
        self.files = [f for f in self.root.rglob("*") if f.suffix in EXTENSIONS]
        print(f"Dataset ImageFolder\n    Number of datapoints: {len(self.files)}\n    Root: {root}")

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return torch.tensor(np.asarray(Image.open(self.files[i])))


folder = Path("dataset/train")
folder.mkdir(parents=True)
for n in range(10):
    Image.new("RGB", (16, 16), (n, n, n)).save(folder / f"{n}.JPG", "JPEG")

train_set = ImageFolder(folder)
loader = DataLoader(train_set, batch_size=4, shuffle=True)
model = torch.nn.Linear(16 * 16 * 3, 2)
for epoch in range(2):
    for batch in loader:
        print(model(batch.flatten(1).float()).shape)
