# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "the table has empty cells that the estimator refuses, in every trial"
# ///
"""Each trial's fit refuses the table's empty cells, and the study stops at the first one."""

import io

import optuna
import pandas as pd
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score

ROWS = "a,b,y\n" + "".join(f"{i},{i * 0.5 if i % 7 else ''},{i % 4}\n" for i in range(1, 60))


def objective(trial):
    frame = pd.read_csv(io.StringIO(ROWS))
    alpha = trial.suggest_float("alpha", 1e-4, 10, log=True)
    return cross_val_score(
        Ridge(alpha), frame[["a", "b"]], frame["y"], cv=3, error_score="raise"
    ).mean()


study = optuna.create_study(direction="maximize", study_name="ridge")
study.optimize(objective, n_trials=10)
print(study.best_params)
