"""A training of several ranks that reads its batches from a data loader, slow on rank 1.

Its argument is the number of workers of the loader.
"""

import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


class Samples:
    """Samples that rank 1 reads from a slow storage."""

    def __init__(self, rank: int) -> None:
        self._rank = rank

    def __len__(self) -> int:
        """Return the number of samples."""
        return 1 << 20

    def __getitem__(self, index: int) -> torch.Tensor:
        """Return one sample."""
        if self._rank == 1:
            read_from_storage()
        return torch.ones(16)


def read_from_storage() -> None:
    """Wait for a storage that answers slowly."""
    time.sleep(0.01)


def main() -> None:
    """Train forever."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(16, 16))
    for step, batch in enumerate(
        DataLoader(Samples(dist.get_rank()), batch_size=4, num_workers=int(sys.argv[1]))
    ):
        model(batch).square().mean().backward()
        if step == 3:
            print("ready", flush=True)


if __name__ == "__main__":
    main()
