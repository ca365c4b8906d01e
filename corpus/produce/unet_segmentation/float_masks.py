# /// case
# cause = "dtype_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""The masks come out of the augmentation as floats, and the Dice term wants class numbers."""

import argparse
import warnings

import torch
from rich.console import Console
from rich.traceback import install
from torch import nn
from torch.nn import functional as F

install(width=110)
console = Console(width=110)


def rotate(image, mask, degrees):
    theta = torch.tensor([[1.0, degrees / 90, 0.0], [-degrees / 90, 1.0, 0.0]])
    grid = F.affine_grid(theta.expand(len(image), 2, 3), image.shape, align_corners=False)
    image = F.grid_sample(image, grid, align_corners=False)
    mask = F.grid_sample(mask[:, None].float(), grid, mode="nearest", align_corners=False)
    return image, mask[:, 0]


def dice(logits, mask, n_classes):
    target = F.one_hot(mask, n_classes).permute(0, 3, 1, 2)
    probability = logits.softmax(1)
    overlap = (probability * target).sum((2, 3))
    return 1 - (2 * overlap / (probability.sum((2, 3)) + target.sum((2, 3)) + 1e-6)).mean()


parser = argparse.ArgumentParser()
parser.add_argument("--classes", type=int, default=4)
parser.add_argument("--augment-from", type=int, default=3, help="epoch of the first rotation")
options = parser.parse_args()
console.print(vars(options))
warnings.warn("pretrained encoder not found, training from scratch", stacklevel=1)
torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, options.classes, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
for epoch in range(1, 7):
    image = torch.rand(6, 1, 40, 40)
    mask = (image[:, 0] * options.classes).long()
    if epoch >= options.augment_from:
        console.log("augmentation on")
        image, mask = rotate(image, mask, 15)
    loss = dice(model(image), mask, options.classes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    console.log(f"epoch {epoch}: dice loss {loss.item():.4f}")
