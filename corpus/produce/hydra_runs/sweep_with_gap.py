# /// case
# cause = "div_zero"
# exit_code = 1
# command = "python {program} -m seed=1,2,3"
# why = "a count of the program's own is zero for one seed, and the log does not show why"
# ///
"""One job of a multirun never predicts a class, and its precision divides by zero."""

import logging
from pathlib import Path

import hydra
import numpy as np

Path("conf").mkdir(exist_ok=True)
Path("conf/config.yaml").write_text("seed: 0\nclasses: 6\nepochs: 3\n")
log = logging.getLogger(__name__)


def precision(predicted, target, label):
    hits = sum(p == t == label for p, t in zip(predicted, target, strict=True))
    return hits / sum(p == label for p in predicted)


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    rng = np.random.default_rng(cfg.seed)
    for epoch in range(cfg.epochs):
        rows = 60 // (1 + epoch * cfg.seed)
        target = rng.integers(0, cfg.classes, rows).tolist()
        predicted = rng.integers(0, cfg.classes, rows).tolist()
        scores = [precision(predicted, target, label) for label in range(cfg.classes)]
        log.info("epoch %d macro precision %.3f", epoch, sum(scores) / len(scores))


if __name__ == "__main__":
    main()
