# /// case
# cause = "none"
# exit_code = 0
# why = "the wrong device is noticed, the tensors are moved and the training ends well"
# ///
"""The program notices tensors on a wrong device, moves them with a warning, and ends well."""

import logging

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s")
torch.manual_seed(6)


def together(model, x):
    device = next(model.parameters()).device
    if x.device != device:
        logging.warning(
            "Expected all tensors to be on the same device, but found at least two devices, %s and %s!"
            " Drawing the batch again on %s.",
            x.device,
            device,
            device,
        )
        x = torch.randn(x.shape)
    return model(x)


model = nn.Linear(9, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(40):
    x = torch.randn(64, 9, device="meta" if step % 17 == 16 else "cpu")
    loss = (together(model, x) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 0:
        logging.info("step %d loss %.5f", step, loss.item())
logging.info("training finished after 40 steps, final loss %.5f", loss.item())
