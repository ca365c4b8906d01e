# /// case
# cause = "file_not_found"
# exit_code = 1
# ///
"""The brace pattern names a shard that is not on the disk; the earlier ones are read."""

import io
import tarfile

import webdataset as wds
from torch.utils.data import DataLoader

for k in (0, 1):
    with tarfile.open(f"voices-{k:03d}.tar", "w") as tar:
        for i in range(8):
            info = tarfile.TarInfo(f"{k}{i:03d}.txt")
            info.size = 5
            tar.addfile(info, io.BytesIO(b"hello"))


def main():
    dataset = wds.WebDataset("voices-{000..002}.tar", shardshuffle=False).decode()
    loader = DataLoader(dataset, batch_size=None, num_workers=1)
    for step, sample in enumerate(loader):
        if step % 4 == 0:
            print("step", step, sample["__key__"], flush=True)


if __name__ == "__main__":
    main()
