# /// case
# cause = "none"
# exit_code = 0
# ///
"""Half of a grid's combinations do not fit together; their score is nan."""

import random
import sys
import time
import warnings

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

STARTED = time.time()


def say(text):
    print(f"[{time.time() - STARTED:6.2f}s] {text}", flush=True)


def table(n=300, features=12):
    return make_classification(n, features, n_informative=5, random_state=3)


def score(c, n=300):
    x, y = table(n)
    model = LogisticRegression(C=c, max_iter=200).fit(x[: n // 2], y[: n // 2])
    return float(model.score(x[n // 2 :], y[n // 2 :]))


from sklearn.model_selection import GridSearchCV

x, y = table()
grid = GridSearchCV(
    LogisticRegression(max_iter=300),
    {"solver": ["lbfgs", "liblinear"], "l1_ratio": [0.0, 1.0], "C": [0.1, 1.0]},
    cv=3,
    verbose=1,
)
grid.fit(x, y)
say(f"best {grid.best_params_} at {grid.best_score_:.3f}")
