# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# why = "numpy's ValueError about shapes"
# ///
"""The weights of the feature selection do not fit the encoded matrix."""

import numpy as np
import pandas as pd


def encode(frame):
    return pd.get_dummies(frame, columns=["city"]).to_numpy(dtype=float)


def fit(x, y, epochs=40):
    w = np.zeros(x.shape[1])
    for epoch in range(epochs):
        p = 1 / (1 + np.exp(-x @ w))
        w -= 0.1 * x.T @ (p - y) / len(x)
        if epoch % 10 == 0:
            print(f"epoch {epoch:>3} logloss {-np.log(np.where(y, p, 1 - p)).mean():.4f}")
    return w


rng = np.random.default_rng(0)
train = pd.DataFrame(
    {"a": rng.random(80), "b": rng.random(80), "city": rng.choice(["x", "y", "z"], 80)}
)
test = pd.DataFrame({"a": rng.random(20), "b": rng.random(20), "city": rng.choice(["x", "y"], 20)})
w = fit(encode(train), train.a.to_numpy() > 0.5)
scores = (encode(test) * w).sum(1)
print("test scores", scores[:5])
