# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "the filter leaves no row, as the line before shows"
# ///
"""A filter on a date leaves no row to train with."""

import logging

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

log = logging.getLogger("forecast")
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
dates = pd.date_range("2024-01-01", periods=300, freq="D")
frame = pd.DataFrame({"date": dates, "x": np.arange(300.0), "y": np.sin(np.arange(300.0))})
log.info("read %d rows from %s to %s", len(frame), frame.date.min().date(), frame.date.max().date())
recent = frame[frame.date >= "2026-01-01"]
log.info("rows after filtering on date >= 2026-01-01: %d", len(recent))
model = Ridge(alpha=1.0)
model.fit(recent[["x"]], recent["y"])
log.info("coefficients %s", model.coef_)
