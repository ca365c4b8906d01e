# /// case
# cause = "none"
# exit_code = 0
# why = "every shard that failed was read again, the table is written"
# ///
"""The nightly refresh complains at length and does its work."""

import logging
import random
import traceback

import torch

logging.basicConfig(level=logging.INFO, format="%(levelname).1s %(asctime)s %(message)s")
random.seed(8)
torch.manual_seed(8)


def read(shard, attempt):
    if shard in (2, 5) and attempt == 0:
        raise PermissionError(13, "Permission denied", f"s3fs/shard-{shard:02d}")
    if shard == 6 and attempt < 2:
        raise RuntimeError("Tensor on device meta is not on the expected device cpu!")
    return torch.randn(256, 12)


def read_with_retries(shard, attempts=4):
    for attempt in range(attempts):
        try:
            return read(shard, attempt)
        except (OSError, RuntimeError):
            logging.warning(
                "shard %d attempt %d failed\n%s", shard, attempt, traceback.format_exc()
            )
    raise SystemExit(f"shard {shard} unreadable")


table = torch.zeros(12, 12)
rows = 0
for shard in range(8):
    x = read_with_retries(shard)
    table += x.T @ x
    rows += len(x)
    logging.info("shard %d: %d rows so far, trace %.2f", shard, rows, table.trace())
torch.save(table / rows, "covariance.pt")
logging.info("0 shards failed, OOM killer invocations: 0, division guard hits: 3")
logging.info("refresh complete: covariance.pt written")
