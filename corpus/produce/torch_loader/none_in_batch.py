# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "a sample that could not be read comes back as None and cannot be batched"
# ///
"""The data set answers None for a short recording, which cannot be collated."""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Speech(Dataset):
    def __init__(self, lengths, minimum=400):
        self.lengths = lengths
        self.minimum = minimum

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        wave = np.random.default_rng(i).normal(size=self.lengths[i]).astype("f4")
        if len(wave) < self.minimum:
            print(f"warning: utterance {i} too short ({len(wave)} samples)", flush=True)
            return None
        return torch.from_numpy(wave[: self.minimum])


def train():
    lengths = [900] * 100
    lengths[61] = 120
    enc = torch.nn.Linear(400, 4)
    for epoch in range(2):
        loader = DataLoader(Speech(lengths), batch_size=10, num_workers=2)
        for step, x in enumerate(loader):
            print(f"epoch {epoch} step {step} energy {enc(x).pow(2).mean().item():.3f}", flush=True)


if __name__ == "__main__":
    train()
