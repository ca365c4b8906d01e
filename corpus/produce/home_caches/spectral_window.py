# /// case
# cause = "device_mismatch"
# exit_code = 1
# ///
"""The window of the spectral loss is no buffer of the module and was created on another device."""

import torch
from torch import nn
from tqdm import trange


class SpectralLoss(nn.Module):
    def __init__(self, sizes, device):
        super().__init__()
        self.windows = {n: torch.hann_window(n, device=device if n > 128 else "cpu") for n in sizes}

    def forward(self, a, b):
        total = 0.0
        for n, window in self.windows.items():
            left = torch.stft(a, n, window=window, return_complex=True).abs()
            right = torch.stft(b, n, window=window, return_complex=True).abs()
            total = total + (left - right).abs().mean()
        return total


torch.manual_seed(0)
vocoder = nn.Conv1d(1, 1, 9, padding=4)
optimizer = torch.optim.Adam(vocoder.parameters())
small, full = SpectralLoss([64, 128], "cpu"), SpectralLoss([64, 256], "meta")
bar = trange(12, ncols=72)
for step in bar:
    wave = torch.randn(2, 1, 2000)
    loss = (small if step < 8 else full)(vocoder(wave)[:, 0], wave[:, 0])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    bar.set_postfix_str(f"mag {loss.item():.3f}")
