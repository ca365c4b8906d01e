# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python {program}"
# needs = ["root"]
# why = "pandas says OSError where the folder may not be written"
# ///
"""The table of features is exported into a folder without write permission, after all the work is done."""

import os

import numpy as np
import pandas as pd

os.makedirs("warehouse/features/ds=2026-02-11")
os.chmod("warehouse/features/ds=2026-02-11", 0o555)


def build(days):
    rng = np.random.default_rng(days)
    frame = pd.DataFrame(rng.normal(size=(days * 24, 4)), columns=list("abcd"))
    frame["roll"] = frame["a"].rolling(24).mean()
    return frame.dropna()


def export(frame, path):
    try:
        frame.to_parquet(path)
    except PermissionError as error:
        raise OSError(f"export of {len(frame)} rows failed") from error


frame = build(60)
print(frame.tail(3).round(3).to_string())
export(frame, "warehouse/features/ds=2026-02-11/part-0.parquet")
