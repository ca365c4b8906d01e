# /// case
# cause = "network"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The study's gRPC proxy cannot be reached."""

import logging

import optuna
from optuna.storages import GrpcStorageProxy

logging.basicConfig(level=logging.INFO)
logging.info("joining study 'speech-200h' as worker %d", 3)
storage = GrpcStorageProxy(host="127.0.0.1", port=9)
study = optuna.create_study(storage=storage, study_name="speech-200h", load_if_exists=True)
study.optimize(lambda trial: trial.suggest_float("dropout", 0, 0.5), n_trials=4)
