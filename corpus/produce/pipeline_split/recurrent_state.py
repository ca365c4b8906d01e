# /// case
# cause = "device_mismatch"
# exit_code = 1
# ///
"""The hidden state that is carried between the chunks lives on another device than the input."""

import torch
from torch import nn

torch.manual_seed(4)


class Chunked(nn.Module):
    def __init__(self, state_device):
        super().__init__()
        self.rnn = nn.GRU(12, 24, batch_first=True)
        self.out = nn.Linear(24, 1)
        self.state_device = state_device

    def reset(self, batch):
        return torch.zeros(1, batch, 24, device=self.state_device)

    def forward(self, chunks, reset_every):
        state = None
        for i, chunk in enumerate(chunks):
            if i and i % reset_every == 0:
                state = self.reset(len(chunk))
            y, state = self.rnn(chunk, state)
            yield self.out(y)


model = Chunked(torch.device("meta"))
for length in (2, 3, 6):
    chunks = torch.randn(length, 4, 20, 12)
    total = sum(y.square().mean() for y in model(chunks, reset_every=4))
    print(f"{length} chunks: energy {total.item():.4f}", flush=True)
