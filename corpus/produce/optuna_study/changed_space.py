# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# why = "the resumed study holds a search space that does not fit the new one"
# ///
"""A stored study is resumed with another list of choices."""

import optuna

STORAGE = "sqlite:///study.db"


def objective_with(optimizers):
    def objective(trial):
        name = trial.suggest_categorical("optimizer", optimizers)
        return len(name) + trial.suggest_float("wd", 0, 0.1)

    return objective


first = optuna.create_study(study_name="tune", storage=STORAGE)
first.optimize(objective_with(["adam", "sgd"]), n_trials=3)
again = optuna.create_study(study_name="tune", storage=STORAGE, load_if_exists=True)
print(f"resuming with {len(again.trials)} trials")
again.optimize(objective_with(["adam", "sgd", "lion"]), n_trials=3)
