# /// case
# cause = "none"
# exit_code = 0
# ///
"""A child process that evaluates candidates fails on one; its parent starts another child."""

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


import multiprocessing as mp


def worker(todo, done):
    while (c := todo.get()) is not None:
        weights = {0: 1.0, 1: 2.0} if c != 0.5 else None
        done.put((c, score(c) * weights[1] / 2))


if __name__ == "__main__":
    todo, done = mp.Queue(), mp.Queue()
    for c in (0.1, 0.5, 1.0, 2.0, 5.0, None):
        todo.put(c)
    best = {}
    while True:
        child = mp.Process(target=worker, args=(todo, done))
        child.start()
        child.join()
        while not done.empty():
            c, value = done.get()
            best[c] = value
            say(f"candidate {c}: {value:.3f}")
        if child.exitcode == 0:
            break
        say(f"evaluator {child.pid % 10} ended with {child.exitcode}, starting another one")
    say(f"{len(best)} of 5 candidates evaluated, the best is {max(best, key=best.get)}")
