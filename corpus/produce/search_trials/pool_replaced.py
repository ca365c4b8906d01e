# /// case
# cause = "none"
# exit_code = 0
# ///
"""A worker process dies and breaks the pool; a new pool does what was left."""

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
import traceback
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool


def evaluate(job):
    c, marker = job
    if marker and not os.path.exists(marker):
        open(marker, "w").close()
        os._exit(9)
    return c, score(c)


if __name__ == "__main__":
    todo = {0.01: None, 0.1: None, 1.0: "seen", 10.0: None, 100.0: None}
    results = {}
    while len(results) < len(todo):
        with ProcessPoolExecutor(2) as pool:
            futures = [pool.submit(evaluate, (c, m)) for c, m in todo.items() if c not in results]
            for future in futures:
                try:
                    c, value = future.result()
                except BrokenProcessPool:
                    traceback.print_exc()
                    say("the pool broke, starting another one")
                    break
                results[c] = value
                say(f"C={c} accuracy {value:.3f}")
    best = max(results, key=results.get)
    say(f"search finished: C={best}, accuracy {results[best]:.3f}")
