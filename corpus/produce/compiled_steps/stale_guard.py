# /// case
# cause = "dtype_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# why = "the compiled step is called under autocast with a head in float64; dynamo wraps the error about the types"
# ///
"""A head that was left in double precision meets the single precision of the compiled backbone."""

import torch
from torch import nn
from rich.console import Console

console = Console(width=100)


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv1d(3, 8, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(4)
        )
        self.head = nn.Linear(32, 2).double()

    def forward(self, signal):
        return self.head(self.backbone(signal).flatten(1))


def main():
    console.rule("[bold]fit")
    model = Regressor()
    step = torch.compile(model, backend="eager")
    optimizer = torch.optim.Adam(model.parameters())
    with console.status("training"):
        for i in range(5):
            loss = step(torch.randn(8, 3, 64)).square().mean()
            loss.backward()
            optimizer.step()
            console.log(f"step {i} loss {loss.item():.3f}")


main()
