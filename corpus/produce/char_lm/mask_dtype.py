# /// case
# cause = "dtype_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""The attention mask is of another number type than the bfloat16 queries."""

import logging

import torch
from torch import nn
from torch.nn import functional as F

logging.basicConfig(
    level=logging.INFO,
    format="%(asctime)s.%(msecs)03d %(levelname)s %(name)s - %(message)s",
    datefmt="%H:%M:%S",
)
logger = logging.getLogger("lm")


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x, mask):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.proj(y.transpose(1, 2).reshape(b, t, c))


def causal_mask(t):
    return torch.full((t, t), float("-inf"), dtype=torch.float64).triu(1)


dtype = torch.bfloat16
torch.manual_seed(1337)
model = Attention(64, 4).to(dtype)
logger.info("number of parameters: %.2fK", sum(p.numel() for p in model.parameters()) / 1e3)
logger.info("training dtype %s, compile=False", dtype)
x = torch.randn(2, 32, 64, dtype=dtype)
for it in range(3):
    loss = model(x, causal_mask(32)).float().pow(2).mean()
    loss.backward()
    logger.info("iter %d loss %.4f", it, loss.item())
