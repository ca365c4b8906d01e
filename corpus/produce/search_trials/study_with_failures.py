# /// case
# cause = "none"
# exit_code = 0
# ///
"""Some trials of a study raise, which the study is told to expect."""

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


def objective(trial):
    c = trial.suggest_float("c", 1e-4, 1e2, log=True)
    width = trial.suggest_int("width", 1, 16)
    if width > 12:
        raise ValueError(
            f"n_components={width} must be between 0 and min(n_samples, n_features)=12"
        )
    return score(c)


study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=5))
study.optimize(objective, n_trials=10, catch=(ValueError,))
say(f"best value {study.best_value:.3f} with {study.best_params}")
