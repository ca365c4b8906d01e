# /// case
# cause = "none"
# exit_code = 0
# why = "the killed worker is replaced and all epochs are finished"
# ///
"""A worker dies in the first epoch; the program starts a new loader and finishes."""

import logging
import os
import signal

import torch
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")


class Flaky(Dataset):
    def __init__(self, marker):
        self.marker = marker

    def __len__(self):
        return 64

    def __getitem__(self, i):
        if i == 33 and not os.path.exists(self.marker):
            open(self.marker, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.randn(4)


def run_epoch(model, optimizer, attempt):
    losses = []
    for x in DataLoader(Flaky("seen.txt"), batch_size=8, num_workers=2):
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def main():
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(4):
        for attempt in range(3):
            try:
                mean = run_epoch(model, optimizer, attempt)
                break
            except (RuntimeError, ConnectionError) as error:
                logging.error(
                    "epoch %d attempt %d: %s -- restarting workers", epoch, attempt, error
                )
        logging.info("epoch %d loss %.5f", epoch, mean)
    logging.info("training complete after 4 epochs")


if __name__ == "__main__":
    main()
