# /// case
# cause = "shape_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""A two-layer head is built for another input width; the training script uses Accelerate."""

import argparse
import logging

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logger = get_logger(__name__)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=2)
    args = parser.parse_args()
    accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
    logging.basicConfig(
        format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", level=logging.INFO
    )
    logger.info(accelerator.state, main_process_only=False)
    body = nn.Sequential(nn.Conv1d(3, 16, 5), nn.ReLU(), nn.Flatten())
    head = nn.Linear(16 * 30, args.hidden)
    model = nn.Sequential(body, head)
    data = TensorDataset(torch.randn(64, 3, 32), torch.randn(64, args.hidden))
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data, 8))
    logger.info("***** Running training *****")
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    main()
