# /// case
# cause = "runtime_error"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# ///
"""DDP finds in the second step that a head took no part in the first loss."""

import torch
import torch.distributed as dist
from torch import nn


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(16, 16)
        self.main_head = nn.Linear(16, 4)
        self.auxiliary_head = nn.Linear(16, 2)

    def forward(self, x, with_auxiliary=False):
        x = self.body(x).relu()
        return self.auxiliary_head(x) if with_auxiliary else self.main_head(x)


def main():
    dist.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(TwoHeads())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        loss = model(torch.randn(4, 16)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"rank {dist.get_rank()} step {step} loss {loss.item():.4f}", flush=True)


main()
