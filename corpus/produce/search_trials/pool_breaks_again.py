# /// case
# cause = "runtime_error"
# exit_code = 1
# why = "the workers left without a trace or the name of a signal"
# ///
"""Each new pool breaks at the same candidate, until the attempts are used up."""

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


import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool


def evaluate(c):
    if c == 1.0:
        os._exit(9)
    return score(c)


if __name__ == "__main__":
    for attempt in range(1, 4):
        with ProcessPoolExecutor(2) as pool:
            futures = [pool.submit(evaluate, c) for c in (0.1, 1.0, 10.0)]
            try:
                say(f"best {max(future.result() for future in futures):.3f}")
                break
            except BrokenProcessPool:
                say(f"the pool broke, attempt {attempt} of 3")
                if attempt == 3:
                    raise
