# /// case
# cause = "none"
# exit_code = 0
# why = "bad rows are put aside with warnings and the model is trained"
# ///
"""Bad rows are put aside with warnings; the model is trained with the others."""

import numpy as np
import pandas as pd

with open("meters.csv", "w") as file:
    file.write("meter,day,kwh\n")
    for i in range(600):
        value = "ERROR" if i % 97 == 5 else "" if i % 151 == 7 else f"{i % 24 + 0.5}"
        file.write(f"m{i % 10},{i},{value}{',extra' if i == 333 else ''}\n")
frame = pd.read_csv("meters.csv", on_bad_lines="warn")
numbers = pd.to_numeric(frame.kwh, errors="coerce")
for _, row in frame[numbers.isna()].iterrows():
    print(
        f"ValueError in row {row.day}: could not convert string to float: {row.kwh!r} (row quarantined)"
    )
frame = frame[numbers.notna()].assign(kwh=numbers.dropna())
print(f"{len(frame)} of 600 rows kept, {600 - len(frame)} corrupt")
coefficients = np.polyfit(frame.day % 24, frame.kwh, 1)
print(
    "fit",
    coefficients.round(4),
    "residual",
    round(float(np.abs(np.polyval(coefficients, frame.day % 24) - frame.kwh).max()), 4),
)
print("pipeline succeeded")
