# /// case
# cause = "traceback"
# exit_code = 1
# why = "the storage of the study is locked by another process; no other name fits"
# ///
"""The study's sqlite file is locked by another process that does not let go."""

import sqlite3

import optuna

holder = sqlite3.connect("hpo.db", isolation_level=None)
holder.execute("create table if not exists notes (text)")
holder.execute("begin exclusive")
storage = optuna.storages.RDBStorage(
    "sqlite:///hpo.db", engine_kwargs={"connect_args": {"timeout": 2}}
)
study = optuna.create_study(storage=storage, study_name="encoder")
study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=3)
