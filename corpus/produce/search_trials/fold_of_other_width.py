# /// case
# cause = "shape_mismatch"
# exit_code = 1
# paper_class = "traceback"
# ///
"""One fold was prepared with another number of features, and its error is raised at the end."""

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
from concurrent.futures import ThreadPoolExecutor

x, y = table()
model = LogisticRegression().fit(x, y)


def fold(i):
    part = x[i * 40 : (i + 1) * 40]
    if i == 2:
        part = np.delete(part, 0, axis=1)
    weights = model.coef_ @ part.T
    return float(((weights[0] > 0) == y[i * 40 : (i + 1) * 40]).mean())


with ThreadPoolExecutor(2) as pool:
    futures = [pool.submit(fold, i) for i in range(5)]
for i, future in enumerate(futures):
    if future.exception() is not None:
        traceback.print_exception(future.exception())
        say(f"fold {i} failed")
say(f"mean {np.mean([future.result() for future in futures]):.3f}")
