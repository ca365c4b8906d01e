# /// case
# cause = "none"
# exit_code = 0
# why = "zero denominators are counted and replaced, every day is written"
# ///
"""The backfill of two weeks reports zero denominators and skipped files, and is complete."""

import json
import logging
import warnings

import numpy as np

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s backfill %(message)s")
logging.captureWarnings(True)
rng = np.random.default_rng(3)
zero = 0
for day in range(1, 15):
    shown = rng.integers(0, 4, 500)
    clicked = np.minimum(shown, rng.integers(0, 2, 500))
    ctr = clicked / shown
    zero += int((shown == 0).sum())
    try:
        json.dumps({"day": day, "ctr": float(ctr[shown > 0].mean()), "odds": 1 // int(day != 9)})
    except ZeroDivisionError:
        logging.exception("day %d: odds left out", day)
    if day == 5:
        warnings.warn(
            "host memory at 91%, the OOM killer may act soon", ResourceWarning, stacklevel=1
        )
        logging.error("PermissionError: [Errno 13] Permission denied: 'day=05/.tmp' (ignored)")
    with open(f"day={day:02d}.json", "w") as out:
        json.dump({"ctr": float(np.nanmean(np.where(shown > 0, ctr, np.nan)))}, out)
logging.info("14/14 days written, %d zero denominators replaced by null", zero)
