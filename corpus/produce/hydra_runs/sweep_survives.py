# /// case
# cause = "none"
# exit_code = 0
# command = "python {program} -m model.width=16,0,32"
# why = "the program records the failed point of its sweep and goes on, as it is meant to"
# ///
"""One point of a sweep fails with a traceback in the log, is scored as inf, and the sweep ends."""

import logging
from pathlib import Path

import hydra
import numpy as np

Path("conf").mkdir(exist_ok=True)
Path("conf/config.yaml").write_text("model:\n  width: 8\nseed: 0\n")
log = logging.getLogger("sweep")


def fit(width, seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(200, width))
    target = features.sum(1)
    weights, *_ = np.linalg.lstsq(features, target, rcond=None)
    return float(np.abs(features @ weights - target).max() / features.std())


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    try:
        with np.errstate(all="raise"):
            error = fit(cfg.model.width, cfg.seed)
    except (ValueError, ArithmeticError):
        log.exception("trial failed, scoring it as inf")
        return float("inf")
    log.info("width %d max error %.2e", cfg.model.width, error)
    return error


if __name__ == "__main__":
    main()
