# /// case
# cause = "device_mismatch"
# exit_code = 1
# why = "planned with fake tensors of an Apple GPU; the program logs the traceback and leaves"
# ///
"""The labels of the loss stay on the CPU while the logits are on the GPU of a laptop."""

import sys

import torch
import torch.nn.functional as F
from loguru import logger
from torch._subclasses.fake_tensor import FakeTensorMode

logger.remove()
logger.add(
    sys.stdout, format="<green>{time:HH:mm:ss}</green> | {level: <7} | {message}", colorize=True
)


def segmentation_loss(logits, labels, smoothing):
    return F.cross_entropy(logits, labels, label_smoothing=smoothing, ignore_index=255)


def estimate(height, width, device):
    logits = torch.empty(2, 19, height, width, device=device)
    labels = torch.zeros(2, height, width, dtype=torch.long)
    logger.info("estimating {}x{} on {}", height, width, device)
    return segmentation_loss(logits, labels, 0.1)


try:
    with FakeTensorMode():
        for device in ("cpu", "mps"):
            logger.info("loss {}", estimate(256, 512, device).shape)
except RuntimeError as error:
    logger.opt(exception=True).error("estimate failed: {}", error)
    sys.exit(1)
