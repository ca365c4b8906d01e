# /// case
# cause = "none"
# exit_code = 0
# ///
"""The exceptions of some futures are printed; the others count."""

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


import traceback
from concurrent.futures import ThreadPoolExecutor, as_completed


def fold(i):
    x, y = table(240)
    part = slice(i * 40, (i + 1) * 40)
    if i == 4:
        y = y * 0
    return float(LogisticRegression().fit(x[part], y[part]).score(x, y))


with ThreadPoolExecutor(2) as pool:
    futures = {pool.submit(fold, i): i for i in range(6)}
    scores = []
    for future in as_completed(futures):
        error = future.exception()
        if error is not None:
            say(f"fold {futures[future]} failed:")
            traceback.print_exception(error)
            continue
        scores.append(future.result())
        say(f"fold {futures[future]} accuracy {scores[-1]:.3f}")
say(f"mean accuracy of {len(scores)} folds: {np.mean(scores):.3f}")
np.save("scores.npy", scores)
