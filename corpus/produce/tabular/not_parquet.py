# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# ///
"""One of the Parquet files holds something else."""

from pathlib import Path

import numpy as np
import pandas as pd

root = Path("events")
root.mkdir()
for day in range(1, 8):
    frame = pd.DataFrame({"user": np.arange(50), "clicks": np.arange(50) % day})
    frame.to_parquet(root / f"2026-03-{day:02d}.parquet")
(root / "2026-03-05.parquet").write_bytes(b"PAR" + bytes(range(200)))
total = 0
for file in sorted(root.iterdir()):
    frame = pd.read_parquet(file)
    total += len(frame)
    print(f"{file.name}: {len(frame)} events, running total {total}", flush=True)
