# /// case
# cause = "none"
# exit_code = 0
# why = "out of memory was caught by find_executable_batch_size; the run ended with a smaller batch"
# ///
"""find_executable_batch_size halves the batch until memory suffices."""

import logging
import resource

import torch
from accelerate import Accelerator
from accelerate.utils import find_executable_batch_size
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(levelname)s|%(asctime)s|%(message)s")
accelerator = Accelerator(cpu=True)
tried = []
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (300 << 20), -1))


@find_executable_batch_size(starting_batch_size=400)
def train(batch_size):
    if tried:
        logging.warning("CUDA out of memory or similar with batch %d, trying less", tried[-1])
    tried.append(batch_size)
    accelerator.free_memory()
    model = nn.Sequential(nn.Linear(512, 4096), nn.ReLU(), nn.Linear(4096, 16))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model, optimizer = accelerator.prepare(model, optimizer)
    for step in range(6):
        x = torch.randn(batch_size, 16, 512)
        loss = model(x).square().mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        if step % 2 == 1:
            logging.info("batch %d step %d loss %.4f", batch_size, step + 1, loss.item())


train()
logging.info("finished; batch sizes tried: %s", tried)
