# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "a chunk of the array cannot be decompressed"
# ///
"""One chunk of a zarr array is corrupt, and its decompression fails in mid-epoch."""

import glob
import sys

import numpy as np
import zarr
from loguru import logger

logger.remove()
logger.add(
    sys.stderr, format="{time:HH:mm:ss} | {level: <8} | {name}:{function}:{line} - {message}"
)
array = zarr.create_array("era5.zarr", shape=(64, 16, 16), chunks=(8, 16, 16), dtype="f4")
array[:] = np.random.default_rng(0).normal(size=array.shape)
chunk = sorted(glob.glob("era5.zarr/c/5/**", recursive=True))[-1]
with open(chunk, "r+b") as file:
    file.seek(0)
    file.write(b"\0" * 40)


@logger.catch(reraise=False, onerror=lambda _: sys.exit(1))
def train():
    data = zarr.open_array("era5.zarr", mode="r")
    for step in range(0, data.shape[0], 8):
        batch = data[step : step + 8]
        logger.info("step {} batch mean {:.4f} std {:.4f}", step // 8, batch.mean(), batch.std())


train()
