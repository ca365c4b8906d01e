# /// case
# cause = "runtime_error"
# exit_code = 1
# why = "a graph was built under inference mode: misuse of autograd in the program"
# ///
"""Prompt embeddings are cached under inference mode and later used where a gradient is needed."""

import argparse
import logging

import torch
from torch import nn
from torch.nn import functional as F

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s - %(message)s", datefmt="%m/%d %H:%M:%S"
)


class Speaker(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, mel):
        return F.normalize(self.body(mel).mean(1), dim=-1)


class Synthesizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.prompt = nn.Linear(16, 32)
        self.decoder = nn.GRU(32, 40, batch_first=True)

    def forward(self, speaker, n):
        return self.decoder(self.prompt(speaker)[:, None].expand(-1, n, -1))[0]


@torch.inference_mode()
def embed_all(speaker, mels):
    return [speaker(mel[None]) for mel in mels]


parser = argparse.ArgumentParser()
parser.add_argument("--cache_from_epoch", type=int, default=2)
options = parser.parse_args()
torch.manual_seed(0)
speaker, synthesizer = Speaker(), Synthesizer()
optimizer = torch.optim.AdamW([*speaker.parameters(), *synthesizer.parameters()], 2e-3)
mels = [torch.randn(30, 40) for _ in range(12)]
for epoch in range(5):
    cache = None
    if epoch >= options.cache_from_epoch:
        cache = embed_all(speaker, mels)
        logging.info("cached %d speaker embeddings", len(cache))
    total = 0.0
    for i, mel in enumerate(mels):
        who = speaker(mel[None]) if cache is None else cache[i]
        loss = F.l1_loss(synthesizer(who, 30), mel[None])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    logging.info("epoch %d | mel loss %.4f", epoch, total / len(mels))
