# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# ///
"""One of the recordings is an MP3 file that was given the ending of a WAV file."""

import os
from dataclasses import asdict, dataclass

import numpy as np
import torch
from scipy import signal
from scipy.io import wavfile
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Args:
    corpus: str = "commands"
    epochs: int = 3
    batch: int = 6
    workers: int = 1


class Commands(Dataset):
    def __init__(self, root):
        self.paths = sorted(
            os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names
        )
        self.words = sorted(os.listdir(root))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        path = self.paths[index]
        rate, pcm = wavfile.read(path)
        _, _, power = signal.spectrogram(pcm / 32768, rate, nperseg=128)
        label = self.words.index(os.path.basename(os.path.dirname(path)))
        return torch.from_numpy(np.log(power[:, :60] + 1e-8)).float(), label


def record(root):
    rng = np.random.default_rng(4)
    for word in ("left", "right", "stop"):
        os.makedirs(f"{root}/{word}")
        for i in range(20):
            tone = np.sin(np.arange(8000) * rng.uniform(0.05, 0.5)) * 9000
            wavfile.write(f"{root}/{word}/{i:03d}.wav", 8000, tone.astype(np.int16))
    with open(f"{root}/right/013.wav", "wb") as file:
        file.write(b"ID3\x04\x00\x00\x00\x00\x00\x00\xff\xfb\x90\x64" + rng.bytes(4000))


def main():
    args = Args()
    print("args:", asdict(args))
    record(args.corpus)
    torch.manual_seed(0)
    loader = DataLoader(Commands(args.corpus), args.batch, shuffle=True, num_workers=args.workers)
    net = nn.Sequential(nn.Flatten(), nn.LazyLinear(32), nn.ReLU(), nn.Linear(32, 3))
    net(next(iter(loader))[0])
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    for epoch in range(args.epochs):
        for i, (x, y) in enumerate(loader):
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"epoch {epoch} batch {i}/{len(loader)} loss {loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
