# /// case
# cause = "nan_loss"
# exit_code = 1
# why = "every trial returns nan, so no trial is complete; best_trial's ValueError only says so"
# ///
"""All trials end with a loss of nan, and the study has no best trial."""

import numpy as np
import optuna

optuna.logging.enable_propagation()


def objective(trial):
    rate = trial.suggest_float("lr", 10, 100, log=True)
    weight = np.float32(1.5)
    with np.errstate(all="ignore"):
        for _ in range(60):
            weight = weight - np.float32(rate) * (weight**3 - weight)
    print(f"trial {trial.number}: final train loss {float(weight):.4f}")
    return float(weight)


study = optuna.create_study(study_name="cubic")
study.optimize(objective, n_trials=6)
print("best", study.best_trial.params)
