# /// case
# cause = "shape_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# why = "the missing torchvision is caught and replaced; the shape is what ends the run"
# ///
"""Pictures keep their colours in the last dimension; a missing package before was no problem."""

import warnings

import numpy as np
import torch

try:
    from torchvision import transforms as T

    augment = T.RandomHorizontalFlip()
except ImportError as error:
    warnings.warn(f"torchvision not available ({error}), falling back to numpy transforms")

    def augment(batch):
        return batch.flip(2) if torch.rand(()) < 0.5 else batch


MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


def load_batch(n):
    pixels = np.random.default_rng(n).integers(0, 255, (n, 48, 48, 3))
    return torch.from_numpy(pixels).float().div(255)


def normalize(batch):
    return (batch - MEAN) / STD


net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten())
for step in range(4):
    images = normalize(augment(load_batch(8)))
    print("step", step, net(images).mean().item())
