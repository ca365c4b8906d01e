# /// case
# cause = "filesystem_io"
# paper_class = "traceback"
# exit_code = 1
# why = "EIO of the file system while a shard is read"
# ///
"""One of the shards cannot be read: input/output error."""

import logging
import os

import numpy as np

logging.basicConfig(
    level=logging.INFO, format="I%(asctime)s %(process)d %(filename)s:%(lineno)d] %(message)s"
)


def shards(folder, n):
    os.makedirs(folder)
    for i in range(n):
        np.arange(i, i + 4096, dtype=np.int32).tofile(f"{folder}/train_{i:06d}.bin")
    os.replace(f"{folder}/train_000004.bin", f"{folder}/spare.bin")
    os.symlink("/proc/self/mem", f"{folder}/train_000004.bin")
    return [f"{folder}/train_{i:06d}.bin" for i in range(n)]


def read(path, attempts=3):
    for attempt in range(1, attempts + 1):
        try:
            with open(path, "rb", buffering=0) as file:
                return np.frombuffer(file.read(16384), dtype=np.int32)
        except OSError as error:
            logging.warning("attempt %d/%d for %s: %s", attempt, attempts, path, error)
            if attempt == attempts:
                raise


for path in shards("tokens", 8):
    logging.info("%s: %d tokens", path, read(path).size)
