# /// case
# cause = "none"
# exit_code = 0
# why = "the tracking server was down and tracking was switched off; training ended well"
# ///
"""The tracking server is down; the run goes on without it."""

import logging
import socket

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s | %(levelname)s | %(name)s | %(message)s"
)
accelerator = Accelerator(cpu=True)
logger = get_logger("train")
tracking = True
model = torch.nn.Linear(12, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
model, optimizer = accelerator.prepare(model, optimizer)
for step in range(1, 61):
    x = torch.randn(16, 12)
    loss = (model(x) - x[:, :3]).square().mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    if step % 20 == 0:
        logger.info("step %d: loss %.4f", step, loss.item())
        if tracking:
            try:
                socket.create_connection(("127.0.0.1", 9), timeout=2)
            except OSError:
                logger.exception("cannot reach tracking server, tracking is disabled")
                tracking = False
accelerator.save_state("final")
logger.info("Training finished successfully, state saved in final")
