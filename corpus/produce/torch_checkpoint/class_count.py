# /// case
# cause = "checkpoint"
# paper_class = "runtime_error"
# exit_code = 1
# why = "size mismatch on loading is a checkpoint, no shape_mismatch"
# ///
"""The head of the checkpoint has another number of classes."""

import argparse

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, classes, width=32):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, width, 3), nn.BatchNorm2d(width), nn.ReLU())
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        return self.fc(self.backbone(x).mean((2, 3)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--classes", type=int, default=37)
    parser.add_argument("--weights", default="pretrained.pth")
    args = parser.parse_args()
    torch.save({"state_dict": Classifier(1000).state_dict(), "epoch": 90}, args.weights)

    print("Creating model")
    model = Classifier(args.classes)
    state = torch.load(args.weights)
    print(f"Loading weights of epoch {state['epoch']}")
    model.load_state_dict(state["state_dict"])
    print("Start training")


if __name__ == "__main__":
    main()
