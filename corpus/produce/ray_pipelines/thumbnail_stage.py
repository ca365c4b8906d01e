# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# env = {RAY_USAGE_STATS_ENABLED = "0", RAY_DATA_DISABLE_PROGRESS_BARS = "1"}
# why = "a record of the data is no image; PIL's error stands inside ray's UserCodeException"
# ///
"""A stage of Ray Data decodes images, and one of them is the page of an error."""

import io
import logging

import numpy as np
import ray
from PIL import Image

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s\t%(levelname)s %(filename)s:%(lineno)s -- %(message)s"
)
logger = logging.getLogger(__name__)


def record(i):
    if i == 171:
        return {"id": i, "bytes": b"<html><head><title>502 Bad Gateway</title></head></html>"}
    buffer = io.BytesIO()
    Image.fromarray(np.full((8, 8, 3), i, np.uint8)).save(buffer, "PNG")
    return {"id": i, "bytes": buffer.getvalue()}


class Decode:
    def __init__(self, size):
        self.size = size

    def __call__(self, batch):
        images = [
            Image.open(io.BytesIO(one)).convert("RGB").resize(self.size) for one in batch["bytes"]
        ]
        return {"id": batch["id"], "image": np.stack([np.asarray(one) for one in images])}


def main():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=True)
    rows = ray.data.from_items([record(i) for i in range(240)], override_num_blocks=6)
    images = rows.map_batches(Decode, fn_constructor_args=((4, 4),), batch_size=20, concurrency=1)
    total = np.zeros(3)
    for i, batch in enumerate(images.iter_batches(batch_size=40)):
        total += batch["image"].mean((0, 1, 2))
        logger.info("batch %d, running mean %s", i, (total / (i + 1)).round(2))
    logger.info("channel means %s", total)


if __name__ == "__main__":
    main()
