# /// case
# cause = "div_zero"
# exit_code = 1
# why = "pandas hands Python integers to the division and the traceback goes through its frames"
# ///
"""Counts per session are integer-divided by a width that is zero for one of the segments."""

import pandas as pd
from tqdm.auto import tqdm

tqdm.pandas(desc="rebin", ncols=70)
frame = pd.DataFrame(
    {
        "segment": ["web", "app", "web", "kiosk", "app", "kiosk"] * 40,
        "seconds": range(240),
    }
)
width = frame.groupby("segment")["seconds"].min().rename("width").astype(object)
frame = frame.join(width, on="segment")
print(frame.describe(include="all").to_string())
frame["bin"] = frame.progress_apply(lambda row: row["seconds"] // row["width"], axis=1)
print(frame["bin"].value_counts().head())
