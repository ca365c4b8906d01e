# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# ///
"""A webdataset shard is cut off in the middle of a member."""

import io
import tarfile

import numpy as np
import webdataset as wds


def write_shard(path, samples):
    with tarfile.open(path, "w") as tar:
        for i in range(samples):
            buffer = io.BytesIO()
            np.save(buffer, np.full(500, i))
            info = tarfile.TarInfo(f"{i:05d}.npy")
            info.size = buffer.tell()
            buffer.seek(0)
            tar.addfile(info, buffer)


for k in range(3):
    write_shard(f"train-{k:04d}.tar", 40)
with open("train-0002.tar", "r+b") as file:
    file.truncate(61_000)

dataset = wds.WebDataset("train-{0000..0002}.tar", shardshuffle=False).decode().to_tuple("npy")
total = 0.0
for step, (sample,) in enumerate(dataset):
    total += float(sample.mean())
    if step % 20 == 0:
        print(f"sample {step}: running mean {total / (step + 1):.3f}", flush=True)
print("epoch done")
