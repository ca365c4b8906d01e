# /// case
# cause = "compile_error"
# paper_class = "traceback"
# exit_code = 1
# ///
"""torch.compile with fullgraph=True meets a branch on the data."""

import torch


class Router(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Linear(8, 1)
        self.small = torch.nn.Linear(8, 8)
        self.large = torch.nn.Sequential(
            torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)
        )

    def forward(self, x):
        if self.gate(x).mean() > 0:
            return self.large(x)
        return self.small(x)


router = Router()
with torch.no_grad():
    print("eager output", router(torch.ones(2, 8)).sum().item(), flush=True)
compiled = torch.compile(router, backend="aot_eager", fullgraph=True)
for step in range(3):
    print("step", step, compiled(torch.randn(4, 8)).square().mean().item())
