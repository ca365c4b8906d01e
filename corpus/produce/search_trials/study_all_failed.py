# /// case
# cause = "traceback"
# exit_code = 0
# why = "every trial fails with a KeyError, and no trial completes; the status is 0"
# ///
"""Every trial of the study fails, and the summary finds none."""

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


import optuna

DEFAULTS = {"max_iter": 200}


def objective(trial):
    c = trial.suggest_float("c", 1e-4, 1e2, log=True)
    return score(c, DEFAULTS["n_rows"])


study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
study.optimize(objective, n_trials=4, catch=(KeyError,))
try:
    say(f"best value {study.best_value:.3f}")
except ValueError as error:
    say(str(error))
