# /// case
# cause = "none"
# exit_code = 0
# env = {TORCH_LOGS = "recompiles,graph_breaks"}
# why = "the limit of recompilations makes dynamo fall back to eager; the training ends"
# ///
"""Every length of a batch recompiles the step until the limit is hit; then it runs in eager mode."""

import json
import time

import torch
from torch import nn

torch._dynamo.config.recompile_limit = 3


class Pooler(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(12, 12)
        self.calls = 0

    def forward(self, x, scale: float):
        if self.calls % 2 == 1:
            print("odd step")
        return torch.tanh(self.proj(x) * scale).mean(1)


def main():
    torch.manual_seed(0)
    model = Pooler()
    step = torch.compile(model, backend="aot_eager", dynamic=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(6):
        x = torch.randn(4, 6 + epoch, 12)
        loss = step(x, 1.0).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(
            json.dumps({"epoch": epoch, "loss": round(loss.item(), 5), "failed_samples": 0}),
            flush=True,
        )
    torch.save(model.state_dict(), "pooler.pt")
    print(
        json.dumps(
            {"status": "finished", "checkpoint": "pooler.pt", "at": time.strftime("%Y-%m-%d")}
        )
    )


main()
