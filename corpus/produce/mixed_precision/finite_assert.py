# /// case
# cause = "nan_loss"
# exit_code = 1
# why = "an assertion that guards against NaN"
# ///
"""An assertion about finite activations fails inside the model."""

import torch
from torch import nn
from tqdm import tqdm


class Head(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(()))
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        out = self.fc(x) * self.log_scale.exp()
        assert torch.isfinite(out).all(), "non-finite values in head output"
        return out


head = Head(12)
optimizer = torch.optim.SGD(head.parameters(), lr=2.0)
bar = tqdm(range(200), desc="pretrain")
for step in bar:
    x = torch.randn(24, 12)
    loss = -head(x).square().mean() if step > 60 else head(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    bar.set_postfix(loss=f"{loss.item():.3e}")
