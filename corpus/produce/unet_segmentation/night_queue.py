# /// case
# cause = "killed_unknown"
# exit_code = -9
# stop = { signal = "KILL", when = "epoch 3 [ 30/ 40]" }
# why = "SIGKILL in the middle of an epoch; the memory it prints is far below anything suspicious"
# ///
"""The training of a segmentation net is killed from outside in the third epoch."""

import resource
import time

import torch
from torch import nn


class Down(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(i, o, 3, stride=2, padding=1), nn.GroupNorm(4, o), nn.SiLU()
        )

    def forward(self, x):
        return self.body(x)


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(Down(1, 8), Down(8, 16))
        self.up = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.PixelShuffle(4))

    def forward(self, x):
        return self.up(self.down(x))


torch.manual_seed(2)
net = Tiny()
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
print(net, flush=True)
for epoch in range(1, 11):
    for step in range(1, 41):
        x = torch.rand(4, 1, 64, 64)
        y = (nn.functional.avg_pool2d(x, 9, 1, 4)[:, 0] > 0.5).long()
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        time.sleep(0.01)
        if step % 10 == 0:
            rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            print(f"epoch {epoch} [{step:3d}/ 40] loss {loss.item():.4f} rss {rss} MiB", flush=True)
    torch.save({"epoch": epoch, "model": net.state_dict()}, "last.pt")
    print(f"epoch {epoch} done, last.pt written", flush=True)
