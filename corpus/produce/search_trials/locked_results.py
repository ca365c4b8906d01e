# /// case
# cause = "none"
# exit_code = 0
# ///
"""The results database is locked by another process for a while; writes are tried again."""

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


import functools
import sqlite3
import subprocess
import traceback


def retried(times, pause_s):
    def wrap(function):
        @functools.wraps(function)
        def call(*args):
            for attempt in range(1, times + 1):
                try:
                    return function(*args)
                except sqlite3.OperationalError:
                    if attempt == times:
                        raise
                    traceback.print_exc()
                    say(f"{function.__name__}: attempt {attempt}/{times} failed")
                    time.sleep(pause_s)

        return call

    return wrap


@retried(20, 1.0)
def store(c, value):
    with sqlite3.connect("results.db", timeout=0.2) as db:
        db.execute("insert into results values (?, ?)", (c, value))


sqlite3.connect("results.db").execute("create table results (c real, accuracy real)")
HOLDER = """
import sqlite3, time
db = sqlite3.connect("results.db", isolation_level=None)
db.execute("begin exclusive"); print("held", flush=True); time.sleep(1.6)
"""
holder = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE)
holder.stdout.readline()
for c in (0.01, 0.1, 1, 10):
    value = score(c)
    store(c, value)
    say(f"stored C={c} accuracy {value:.3f}")
holder.wait()
