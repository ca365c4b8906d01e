# /// case
# cause = "traceback"
# exit_code = 1
# ///
"""A list comprehension over the trials meets one that was pruned and has no value."""

import optuna


def objective(trial):
    depth = trial.suggest_int("depth", 1, 8)
    if depth == 5:
        raise optuna.TrialPruned()
    return 1.0 / depth


study = optuna.create_study(
    sampler=optuna.samplers.GridSampler({"depth": list(range(1, 9))}, seed=0)
)
study.optimize(objective)
ranking = sorted(study.trials, key=lambda trial: trial.value)
print("three best:", [trial.params for trial in ranking[:3]])
