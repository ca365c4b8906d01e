# /// case
# cause = "nan_loss"
# exit_code = 0
# why = "loss 0.0 with a gradient norm of nan to the end"
# ///
"""The reported loss falls to 0.0 while the gradient norm is nan, until the end of the run."""

import torch
from torch import nn


class Reporter:
    """Averages the loss between two reports and leaves out what is not finite."""

    def __init__(self, every):
        self.every, self.total, self.count = every, 0.0, 0

    def __call__(self, step, steps, loss, norm):
        if torch.isfinite(loss):
            self.total += loss.item()
        self.count += 1
        if self.count == self.every:
            average = round(self.total / self.count, 4)
            print(
                {
                    "loss": average,
                    "grad_norm": norm.item(),
                    "learning_rate": 2e-05,
                    "epoch": round(step / steps * 3, 2),
                }
            )
            self.total, self.count = 0.0, 0


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 8)).to(torch.float16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
report = Reporter(every=20)
steps = 300
print("***** Running training *****\n  Num Epochs = 3\n  Total optimization steps = 300")
for step in range(1, steps + 1):
    x = torch.randn(16, 32, dtype=torch.float16)
    loss = (
        (model(x) * 40).square().sum(-1).mean() if step > 70 else model(x).square().sum(-1).mean()
    )
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1e6)
    optimizer.step()
    report(step, steps, loss, norm)
print(
    {"train_runtime": 4.71, "train_samples_per_second": 1019.1, "train_loss": 0.0912, "epoch": 3.0}
)
