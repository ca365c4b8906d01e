# /// case
# cause = "cancelled"
# paper_class = "traceback"
# exit_code = -2
# stop = {signal = "INT", when = "Trial 8 finished"}
# ///
"""Ctrl-C in the middle of a study, after a few failed trials."""

import time

import optuna


def objective(trial):
    x = trial.suggest_float("x", -2, 2)
    time.sleep(0.15)
    if x < -1.2:
        raise ValueError("singular matrix")
    return x**2


study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=2))
study.optimize(objective, n_trials=500, catch=ValueError)
