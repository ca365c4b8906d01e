# /// case
# cause = "none"
# exit_code = 0
# why = "the study catches the trials that diverge, and finishes with a best value"
# ///
"""Some trials fail or are pruned; the study catches them and finishes."""

import numpy as np
import optuna


def objective(trial):
    rate = trial.suggest_float("lr", 1e-3, 3.0, log=True)
    weight, target = np.zeros(5), np.arange(5.0)
    for step in range(40):
        weight -= rate * (weight - target) * (1 + step / 20)
        loss = float(np.square(weight - target).sum())
        trial.report(loss, step)
        if not np.isfinite(loss) or loss > 1e6:
            raise RuntimeError(f"loss diverged to {loss:.3g} at step {step} with lr={rate:.3g}")
        if trial.should_prune():
            raise optuna.TrialPruned()
    return loss


sampler = optuna.samplers.RandomSampler(seed=4)
study = optuna.create_study(sampler=sampler, pruner=optuna.pruners.MedianPruner(3))
study.optimize(objective, n_trials=14, catch=(RuntimeError,))
states = [trial.state.name for trial in study.trials]
print({name: states.count(name) for name in set(states)})
print("best value", round(study.best_value, 6), "with", study.best_params)
