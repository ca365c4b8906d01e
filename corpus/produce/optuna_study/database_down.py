# /// case
# cause = "missing_module"
# exit_code = 1
# ///
"""The study shall be kept in PostgreSQL, but its driver is not installed."""

import argparse

import optuna

parser = argparse.ArgumentParser()
parser.add_argument("--storage", default="postgresql+psycopg2://tuner@db.internal:5432/optuna")
parser.add_argument("--n-trials", type=int, default=20)
args = parser.parse_args()
print("connecting to", args.storage.split("@")[-1])
study = optuna.create_study(storage=args.storage, study_name="vit-small", load_if_exists=True)
study.optimize(lambda trial: trial.suggest_int("depth", 2, 12), n_trials=args.n_trials)
