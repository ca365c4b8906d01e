# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "the table has other columns than the program wants, as the printed header shows"
# ///
"""The new export names two columns differently from what the features need."""

import io

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingRegressor

FEATURES = ["temperature", "humidity", "wind_speed", "hour"]
TARGET = "demand"
rng = np.random.default_rng(0)


def export(renamed):
    frame = pd.DataFrame(rng.random((150, 5)), columns=[*FEATURES, TARGET])
    if renamed:
        frame = frame.rename(columns={"wind_speed": "windSpeed", "humidity": "rel_humidity"})
    return io.StringIO(frame.to_csv(index=False))


model = GradientBoostingRegressor(n_estimators=5)
for month, text in (("2026-08", export(False)), ("2026-09", export(True))):
    frame = pd.read_csv(text)
    print(f"{month}: {len(frame)} rows, columns {list(frame.columns)}", flush=True)
    model.fit(frame[FEATURES], frame[TARGET])
    print(f"{month}: train R2 {model.score(frame[FEATURES], frame[TARGET]):.3f}", flush=True)
