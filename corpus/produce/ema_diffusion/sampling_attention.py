# /// case
# cause = "host_oom"
# exit_code = 3
# why = "the allocator of the CPU cannot have what the sampler asks for, and halving the batch does not help"
# ///
"""Sampling at the end of the training needs more memory than the process may have, also with half the batch."""

import logging
import resource
import sys

import torch
from torch import nn

resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
torch.set_num_threads(1)
logging.basicConfig(
    level=logging.INFO, stream=sys.stdout, format="%(levelname).1s %(relativeCreated)7d %(message)s"
)
log = logging.getLogger(__name__)


class Block(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return x + self.out(torch.softmax(q @ k.transpose(1, 2) / 3, -1) @ v)


model = nn.Sequential(Block(), Block())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(1, 31):
    x = torch.randn(4, 64, 8)
    loss = (model(x + torch.randn_like(x)) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 6 == 0:
        log.info("step %d loss %.4f (crops of 8x8)", step, loss.item())

side, batch = 128, 64
log.info("sampling %d images of %dx%d for the FID", batch, side, side)
while batch >= 8:
    try:
        with torch.inference_mode():
            images = model(torch.randn(batch, side * side, 8))
        log.info("sampled %s", tuple(images.shape))
        sys.exit(0)
    except RuntimeError as error:
        log.warning(
            "batch of %d failed, trying %d: %s", batch, batch // 2, str(error).splitlines()[0]
        )
        batch //= 2
log.critical("no batch size is small enough for sampling, giving up")
sys.exit(3)
