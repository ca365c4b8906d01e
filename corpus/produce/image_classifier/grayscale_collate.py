# /// case
# cause = "data"
# paper_class = "runtime_error"
# exit_code = 1
# why = "examples of different size cannot be batched"
# ///
"""One grey picture among coloured ones cannot be put into a batch."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset


def pil_to_tensor(image):
    array = np.array(image)
    if array.ndim == 2:
        array = array[:, :, None]
    return torch.from_numpy(array).permute(2, 0, 1) / 255.0


class Folder(Dataset):
    def __init__(self, root):
        self.samples = [(p, int(p.stem) % 3) for p in sorted(Path(root).iterdir())]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, target = self.samples[index]
        return pil_to_tensor(Image.open(path)), target


root = Path("imgs")
root.mkdir()
rng = np.random.default_rng(0)
for k in range(40):
    shape = (24, 24) if k == 29 else (24, 24, 3)
    Image.fromarray(rng.integers(0, 256, shape, dtype=np.uint8)).save(root / f"{k}.png")

loader = DataLoader(Folder(root), batch_size=4, shuffle=False, num_workers=1)
net = nn.Sequential(
    nn.Conv2d(3, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 3)
)
opt = torch.optim.SGD(net.parameters(), 0.1)
for it, (images, target) in enumerate(loader):
    loss = nn.functional.cross_entropy(net(images), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"Epoch: [0][{it}/{len(loader)}]  Loss {loss.item():.4e}", flush=True)
