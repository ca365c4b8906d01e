# /// case
# cause = "host_oom"
# exit_code = 1
# ///
"""Each worker may use little memory, and one sample needs more than that."""

import resource

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


def limit(worker_id):
    size = 6 << 30
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    torch.set_num_threads(1)


class Slides(Dataset):
    """Whole slide images: most are small, one is not."""

    def __init__(self):
        self.sides = [200] * 30 + [60000] + [200] * 9

    def __len__(self):
        return len(self.sides)

    def __getitem__(self, i):
        slide = np.zeros((self.sides[i], self.sides[i], 3), dtype=np.uint8)
        thumbnail = slide[:: len(slide) // 20, :: len(slide) // 20]
        return torch.from_numpy(thumbnail.copy())


if __name__ == "__main__":
    loader = DataLoader(Slides(), batch_size=2, num_workers=2, worker_init_fn=limit)
    for i, batch in enumerate(loader):
        print(f"slide batch {i}: {tuple(batch.shape)}", flush=True)
