# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# why = "EOFError: Ran out of input is an empty checkpoint"
# ///
"""The checkpoint is an empty file."""

import os
import sys

import torch


class Trainer:
    def __init__(self, path="last.ckpt"):
        self.path = path
        self.epoch = 0
        self.model = torch.nn.Linear(8, 8)

    def resume(self):
        if not os.path.isfile(self.path):
            print("no checkpoint, starting from scratch")
            return
        print(f"=> loading checkpoint '{self.path}' ({os.path.getsize(self.path)} bytes)")
        checkpoint = torch.load(self.path, weights_only=False)
        self.epoch = checkpoint["epoch"]
        self.model.load_state_dict(checkpoint["state_dict"])
        print(f"=> loaded checkpoint '{self.path}' (epoch {self.epoch})")

    def fit(self, epochs):
        for self.epoch in range(self.epoch, epochs):
            loss = self.model(torch.randn(4, 8)).square().mean()
            print("epoch", self.epoch, "loss", loss.item())


if __name__ == "__main__":
    open("last.ckpt", "w").close()
    trainer = Trainer()
    trainer.resume()
    trainer.fit(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
