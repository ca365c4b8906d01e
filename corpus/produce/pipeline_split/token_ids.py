# /// case
# cause = "device_mismatch"
# exit_code = 1
# why = "planned with fake tensors; ids on the CPU meet a table on the card"
# ///
"""The ids of the tokens were not moved to the device of the embedding."""

import logging

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

logging.basicConfig(level=logging.INFO, format="[%(asctime)s][%(levelname)s] - %(message)s")
log = logging.getLogger("planner")


class Decoder:
    def __init__(self, vocabulary, width, device):
        self.wte = torch.empty(vocabulary, width, device=device)
        self.wpe = torch.empty(512, width, device=device)
        self.proj = torch.empty(3 * width, width, device=device)

    def __call__(self, ids, positions):
        x = F.embedding(ids, self.wte) + F.embedding(positions, self.wpe)
        q, k, v = F.linear(x, self.proj).chunk(3, dim=-1)
        x = (q @ k.transpose(1, 2)).softmax(-1) @ v
        return F.linear(x, self.wte)


def plan(batch, length):
    ids = torch.zeros(batch, length, dtype=torch.long, device="cuda")
    positions = torch.zeros(length, dtype=torch.long, device="cpu" if length > 256 else "cuda")
    logits = model(ids, positions)
    log.info("batch %dx%d: logits %.1f MiB", batch, length, logits.numel() * 4 / 2**20)


with FakeTensorMode():
    model = Decoder(32000, 256, "cuda")
    for batch, length in ((4, 64), (8, 128), (8, 512)):
        plan(batch, length)
