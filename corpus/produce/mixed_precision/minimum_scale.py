# /// case
# cause = "nan_loss"
# exit_code = 1
# why = "the loss scale is exhausted"
# ///
"""The loss scale is halved at every step until it is below its minimum."""

import logging
import sys

import torch
from torch import nn

logging.basicConfig(
    level=logging.INFO,
    stream=sys.stdout,
    format="%(asctime)s | %(levelname)s | %(name)s | %(message)s",
)
logger = logging.getLogger("trainer")


class DynamicLossScaler:
    def __init__(self, scale=2.0**7, minimum=2.0**-4):
        self.loss_scale, self.minimum = scale, minimum

    def check_overflow(self, norm):
        if torch.isfinite(norm):
            return False
        if self.loss_scale <= self.minimum:
            raise FloatingPointError(
                f"Minimum loss scale reached ({self.minimum}). Your loss is probably exploding. "
                "Try lowering the learning rate, using gradient clipping or increasing the batch size."
            )
        self.loss_scale /= 2
        logger.info(
            "NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: %s",
            self.loss_scale,
        )
        return True


def main():
    model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = DynamicLossScaler()
    for update in range(1, 200):
        x = torch.randn(32, 12) * (1 if update < 30 else 1e6)
        loss = (model(x) - x.pow(2).sum(1, keepdim=True)).half().pow(2).mean()
        optimizer.zero_grad()
        (loss.float() * scaler.loss_scale).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if scaler.check_overflow(norm):
            continue
        optimizer.step()
        if update % 5 == 0:
            logger.info(
                "num_updates=%d loss=%.3f gnorm=%.2f scale=%s",
                update,
                loss.item(),
                norm,
                scaler.loss_scale,
            )


main()
