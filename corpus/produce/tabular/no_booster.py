# /// case
# cause = "missing_module"
# exit_code = 1
# ///
"""The chosen booster is not installed; others were tried before."""

import importlib
import logging

import numpy as np

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(message)s")


def first_available(names):
    error = None
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError as problem:
            logging.warning("backend %s not usable: %s", name, problem)
            error = problem
    raise error


x = np.random.default_rng(0).random((30, 4))
logging.info("training set %s", x.shape)
booster = first_available(["lightgbm", "catboost", "xgboost"])
model = booster.Booster()
logging.info("using %s", booster.__name__)
