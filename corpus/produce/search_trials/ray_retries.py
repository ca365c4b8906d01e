# /// case
# cause = "none"
# exit_code = 0
# env = {RAY_DEDUP_LOGS = "0", RAY_USAGE_STATS_ENABLED = "0"}
# ///
"""A worker of Ray dies, and Ray runs its task again; another task's error is collected."""

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

import ray

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=True)


@ray.remote(max_retries=2)
def evaluate(c, marker):
    if c == 1.0 and not os.path.exists(marker):
        open(marker, "w").close()
        os._exit(17)
    if c < 0:
        raise ValueError(f"C must be positive, got {c}")
    return score(c)


marker = os.path.abspath("died_once")
candidates = [0.1, 1.0, -1.0, 10.0]
for c, reference in [(c, evaluate.remote(c, marker)) for c in candidates]:
    try:
        say(f"C={c}: {ray.get(reference):.3f}")
    except ray.exceptions.RayTaskError as error:
        print(error, file=sys.stderr)
        say(f"C={c}: left out")
ray.shutdown()
say("search done")
