# /// case
# cause = "device_mismatch"
# exit_code = 1
# ///
"""Packing a batch of sequences wants the lengths on the CPU."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence


def collate(batch, device):
    lengths = torch.tensor([len(x) for x in batch], device=device)
    return pad_sequence(batch, batch_first=True), lengths


def accuracy(encoder, dev_sets):
    for language, (batch, device) in dev_sets.items():
        padded, lengths = collate(batch, device)
        packed = pack_padded_sequence(padded, lengths, batch_first=True)
        _, (h, _) = encoder(packed)
        yield language, h.abs().mean().item()


torch.manual_seed(1)
batches = [[torch.randn(n, 5) for n in lengths] for lengths in ((7, 4, 3), (9, 2), (5, 5, 1))]
encoder = nn.LSTM(5, 11, batch_first=True)
sets = dict(zip(("de", "en", "ja"), zip(batches, ("cpu", "cpu", "meta"))))
for language, value in accuracy(encoder, sets):
    print(f"{language}: {value:.4f}", flush=True)
