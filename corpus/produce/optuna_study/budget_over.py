# /// case
# cause = "none"
# exit_code = 0
# why = "the study's own time budget ends it as planned, with warnings of experimental features"
# ///
"""The study stops at its own time budget; a repeated report and a retried read give warnings."""

import time
import warnings

import optuna

warnings.simplefilter("always")


def objective(trial):
    x = trial.suggest_float("x", -5, 5)
    for step in range(2):
        time.sleep(0.1)
        trial.report(x * x, 0)
    if abs(x) > 4.5:
        warnings.warn(
            "loss is very large, this run may fail to converge", RuntimeWarning, stacklevel=1
        )
    return (x - 1) ** 2


study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1, multivariate=True))
study.optimize(objective, timeout=3, n_jobs=1)
print(f"study finished after timeout: best {study.best_value:.4f}")
