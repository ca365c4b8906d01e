# /// case
# cause = "runtime_error"
# exit_code = 1
# why = "a loader that timed out"
# ///
"""Reading one sample takes longer than the time-out of the loader."""

import logging
import time

import torch
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(processName)s:%(message)s")


class Remote(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        if i == 20:
            logging.warning("slow read of shard-00020, still waiting ...")
            time.sleep(30)
        return torch.rand(8)


def main():
    loader = DataLoader(Remote(), batch_size=4, num_workers=1, timeout=3)
    for n, batch in enumerate(loader):
        logging.info("batch %d mean %.4f", n, batch.mean())


if __name__ == "__main__":
    main()
