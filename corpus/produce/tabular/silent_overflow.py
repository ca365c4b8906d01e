# /// case
# cause = "nan_loss"
# exit_code = 0
# why = "only warnings of numpy, and a loss of nan to the end"
# ///
"""Gradient descent without scaled features overflows to nan; numpy only warns."""

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
frame = pd.DataFrame({"rooms": rng.integers(1, 9, 500), "area": rng.normal(90, 30, 500)})
frame["price"] = 3000 * frame.area + 10000 * frame.rooms
x = np.c_[np.ones(500), frame[["rooms", "area"]]]
w = np.zeros(3)
for epoch in range(1, 201):
    error = x @ w - frame.price
    w -= 0.01 * x.T @ error / len(x)
    if epoch % 20 == 0:
        print(
            f"epoch {epoch:4d} mse {np.square(error).mean():.6g} |w| {np.linalg.norm(w):.6g}",
            flush=True,
        )
pd.Series(w, ["bias", "rooms", "area"]).to_csv("weights.csv")
print("weights written to weights.csv")
