# /// case
# cause = "none"
# exit_code = 0
# why = "broken pictures, a broken process pool and a failed checksum, all dealt with; every shard is written"
# ///
"""Pictures are packed into shards; corrupt ones are left out, a worker dies and the rest is done in one process."""

import io
import logging
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import h5py
import numpy as np
from PIL import Image, UnidentifiedImageError

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("pack")
rng = np.random.default_rng(7)


def encoded(index):
    out = io.BytesIO()
    pixels = np.full((16, 16, 3), index * 5 % 256, dtype=np.uint8)
    Image.fromarray(pixels).save(out, "PNG")
    blob = out.getvalue()
    if index % 19 == 4:
        return b"<html>404 Not Found</html>"
    return blob[: len(blob) // 2] if index % 23 == 6 else blob


def decode(item):
    index, blob = item
    if index == 33 and multiprocessing.parent_process() is not None:
        os._exit(11)
    try:
        return index, np.asarray(Image.open(io.BytesIO(blob)).resize((8, 8)))
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        log.error("picture %d: %s: %s", index, type(error).__name__, str(error).split(" <")[0])
        return index, None


def main():
    items = [(index, encoded(index)) for index in range(60)]
    try:
        with ProcessPoolExecutor(2) as pool:
            results = list(pool.map(decode, items, chunksize=10))
    except BrokenProcessPool as error:
        log.error("pool failed (%s); going on without it", error)
        results = [decode(item) for item in items]
    good = [(index, picture) for index, picture in results if picture is not None]
    for number in range(3):
        part = good[number::3]
        with h5py.File(f"pictures-{number}.h5", "w") as shard:
            shard["index"] = [index for index, _ in part]
            shard.create_dataset("rgb", data=np.stack([p for _, p in part]), fletcher32=True)
        log.info("pictures-%d.h5: %d pictures", number, len(part))
    log.info("done: %d packed, %d failed", len(good), len(items) - len(good))


if __name__ == "__main__":
    main()
