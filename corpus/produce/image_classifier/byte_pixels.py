# /// case
# cause = "dtype_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""Pixels reach the convolution as bytes, because the scaling was moved into another branch."""

import argparse
import sys

import torch
from rich.console import Console
from rich.traceback import install
from torch import nn

install(width=110, show_locals=False)
console = Console(width=100)


def transform(images, train, scale):
    if train and torch.rand(()) < 0.5:
        images = images.flip(-1)
    if scale:
        images = images / 255.0
    return images


class SmallNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 5, stride=2)
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        return self.head(torch.relu(self.stem(x)).mean((2, 3)))


def run(args):
    model = SmallNet(10)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    for epoch in range(2):
        for train in (True, True, False):
            images = torch.randint(0, 256, (8, 3, 32, 32), dtype=torch.uint8)
            target = torch.randint(0, 10, (8,))
            loss = nn.functional.cross_entropy(model(transform(images, train, scale=train)), target)
            if train:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            console.log(f"[bold]epoch {epoch}[/bold] {'train' if train else 'val'} loss {loss:.4f}")


parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.05)
run(parser.parse_args(sys.argv[1:]))
